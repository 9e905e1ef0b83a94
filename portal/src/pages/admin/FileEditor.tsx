import { Alert, Anchor, Button, Group, Loader, Stack, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useBlocker, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";

import { FileChange } from "./FileChange";
import classes from "./FileEditor.module.css";
import { RemoveFile } from "./RemoveFile";
import { answer, api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { Command, quoted } from "@/parts/Command";
import { Loading, ProblemBox } from "@/parts/feedback";
import { lineProblems } from "@/parts/yaml/ProblemList";
import { fill, useWords } from "@/words/language";

const YamlEditor = lazy(() => import("@/parts/yaml/YamlEditor"));

/** What a new file begins with. */
const EXAMPLE = `name: lab
backend: ssh
defaults:
  user: ubuntu
  keyFile: ~/.ssh/id_ed25519
nodes:
- gpu1                                # the name is also the host name
- {name: gpu2, host: 10.0.0.2}
`;

type File = Schemas["ClusterFileOut"];

/** One cluster file; `name` is null for a new one. */
export function FileEditor({ name }: { name: string | null }) {
  const words = useWords();
  const file = useQuery({ ...queries.clusterFile(name ?? ""), enabled: name !== null });
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/admin" search={{ tab: "files" }} />}>
          {words.admin.backToFiles}
        </Anchor>
        <Title order={2} size="h5">
          {name ?? words.admin.newFile}
        </Title>
      </Group>
      {file.error && <ProblemBox error={file.error} onRetry={() => void file.refetch()} />}
      {name !== null && file.isPending && <Loading />}
      {(name === null || file.data) && <Editing file={file.data ?? null} />}
    </Stack>
  );
}

/** A file is checked, and what would change is shown, before it can be put into force. */
function Editing({ file }: { file: File | null }) {
  const words = useWords();
  const client = useQueryClient();
  const navigate = useNavigate({ from: "/admin" });
  const begun = file?.text ?? EXAMPLE;
  const [name, setName] = useState(file?.name ?? "");
  const [text, setText] = useState(begun);
  const [isRemoving, setRemoving] = useState(false);
  const [goTo, setGoTo] = useState<{ line: number } | null>(null);
  const put = (dryRun: boolean) =>
    answer(
      api.PUT("/api/v1/cluster-files/{name}", {
        params: { path: { name }, query: { dryRun } },
        body: { text, ...(file && { base: file.sha256 }) },
      }),
    );
  const checking = useMutation({ mutationFn: () => put(true) });
  const applying = useMutation({
    mutationFn: () => put(false),
    onSuccess: async () => {
      await client.invalidateQueries({ queryKey: ["cluster-files"] });
      void client.invalidateQueries({ queryKey: ["clusters"] });
      if (!file) void navigate({ search: { tab: "files", file: name } });
    },
  });
  const edit = (change: () => void) => {
    change();
    checking.reset(); // what was found belongs to the text before
    applying.reset();
  };
  const isUnsaved = text !== begun && !applying.isPending && !applying.isSuccess;
  useBlocker({
    shouldBlockFn: () => isUnsaved && !window.confirm(words.admin.leaveUnsaved),
    enableBeforeUnload: () => isUnsaved,
    disabled: !isUnsaved,
  });
  const isChecked = checking.data?.problems.length === 0;
  const marks = useMemo(() => lineProblems(checking.data?.problems ?? []), [checking.data]);
  return (
    <Stack gap="xs">
      {file?.isMasked && <Alert color="orange" title={words.admin.masked} />}
      {!file && (
        <TextInput
          label={words.admin.fileName}
          value={name}
          onChange={(event) => edit(() => setName(event.target.value))}
          w={260}
        />
      )}
      <div className={classes.editor}>
        <Suspense fallback={<Loader size="sm" />}>
          <YamlEditor
            label={fill(words.admin.fileText, { name: file?.name ?? words.admin.newFile })}
            text={text}
            onChange={(changed) => edit(() => setText(changed))}
            problems={marks}
            goTo={goTo}
          />
        </Suspense>
      </div>
      <Group gap="xs">
        <Button variant="default" disabled={!name} loading={checking.isPending} onClick={() => checking.mutate()}>
          {words.admin.check}
        </Button>
        <Button disabled={!isChecked} loading={applying.isPending} onClick={() => applying.mutate()}>
          {words.admin.apply}
        </Button>
        {file && (
          <Button variant="default" color="red" onClick={() => setRemoving(true)}>
            {words.admin.deleteFile}
          </Button>
        )}
        <Command line={`muster cluster check ${quoted(name || "FILE")}`} />
      </Group>
      {applying.isSuccess && <Alert color="green" role="status" title={fill(words.admin.written, { name })} />}
      {(applying.error ?? checking.error) && <ProblemBox error={applying.error ?? checking.error} />}
      {checking.data && !applying.isSuccess && <FileChange change={checking.data} onGo={(line) => setGoTo({ line })} />}
      {isRemoving && file && <RemoveFile file={file} onClose={() => setRemoving(false)} />}
    </Stack>
  );
}
