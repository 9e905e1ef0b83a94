import { Alert, Button, Group, Paper, Text, Textarea, Title } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { sendFile, stat } from "./calls";
import classes from "./Files.module.css";
import type { Entry } from "./Folder";
import { contentAddress, EDIT_LIMIT_BYTES, previewOf, remote, textOf, type Place } from "./view";
import { ApiProblem, type Problem } from "@/api/client";
import { bytesText } from "@/parts/amounts";
import { Command } from "@/parts/Command";
import { Loading, ProblemBox } from "@/parts/feedback";
import { CrossIcon, DownloadIcon } from "@/parts/icons";
import { hiddenIn, visible } from "@/visible/visible";
import { fill, useWords } from "@/words/language";

interface FilePanelProps {
  place: Place;
  entry: Entry;
  mayWrite: boolean;
  onClose: () => void;
  onSaved: () => void;
}

/** One file: its download, a look at a text or picture, and small texts to edit. */
export function FilePanel({ place, entry, mayWrite, onClose, onSaved }: FilePanelProps) {
  const words = useWords();
  const kind = previewOf(entry.name, entry.size);
  return (
    <Paper withBorder p="sm" component="section" aria-label={entry.name}>
      <Group justify="space-between" mb={6}>
        <Title order={2} size="h5">
          {entry.name} <span className="soft">{bytesText(entry.size)}</span>
        </Title>
        <Group gap={6}>
          <Command line={`muster fs get ${remote(place)} .`} />
          <Button
            component="a"
            href={contentAddress(place)}
            download={entry.name}
            variant="default"
            leftSection={<DownloadIcon />}
          >
            {words.files.download}
          </Button>
          <Button variant="subtle" color="gray" leftSection={<CrossIcon />} onClick={onClose}>
            {words.common.close}
          </Button>
        </Group>
      </Group>
      {kind === "picture" && <img className={classes.picture} src={contentAddress(place)} alt={entry.name} />}
      {kind === "text" && <TextFile place={place} entry={entry} mayWrite={mayWrite} onSaved={onSaved} />}
      {kind === "none" && (
        <Text size="sm" className="soft">
          {fill(words.files.tooLargeToShow, { limit: bytesText(EDIT_LIMIT_BYTES) })}
        </Text>
      )}
    </Paper>
  );
}

function TextFile({ place, entry, mayWrite, onSaved }: Omit<FilePanelProps, "onClose">) {
  const words = useWords();
  const address = contentAddress(place);
  const content = useQuery({
    queryKey: ["files", place.cluster, "content", address, entry.version],
    queryFn: () => fetchText(address),
  });
  const [edited, setEdited] = useState<string | null>(null);
  const saving = useMutation({
    mutationFn: async (text: string) => {
      if ((await stat(place)).version !== content.data?.version) throw new Error(words.files.changedMeanwhile);
      await sendFile(place, new Blob([text]), true, new AbortController().signal, () => undefined);
    },
    onSuccess: onSaved,
  });
  if (content.error) return <ProblemBox error={content.error} onRetry={() => void content.refetch()} />;
  if (!content.isSuccess) return <Loading />;
  if (content.data.text === null) return <Text size="sm">{words.files.notText}</Text>;
  const isEditable = mayWrite && entry.kind === "file";
  const text = edited ?? content.data.text;
  const hidden = hiddenIn(text);
  return (
    <>
      <Textarea
        aria-label={fill(words.files.contentOf, { name: entry.name })}
        classNames={{ input: classes.text ?? "" }}
        rows={14}
        readOnly={!isEditable}
        value={isEditable ? text : visible(text)}
        onChange={(event) => setEdited(event.currentTarget.value)}
      />
      {isEditable && hidden.length > 0 && (
        <Alert color="yellow" mt={6}>
          {fill(words.files.hidden, { marks: hidden.join(" ") })}
        </Alert>
      )}
      {saving.error && <ProblemBox error={saving.error} />}
      {saving.isSuccess && <Alert color="green">{words.files.saved}</Alert>}
      {isEditable && (
        <Button
          mt={6}
          disabled={edited === null || edited === content.data.text}
          loading={saving.isPending}
          onClick={() => saving.mutate(edited ?? "")}
        >
          {words.common.save}
        </Button>
      )}
    </>
  );
}

/** The text, or null if it is none, and its version. */
async function fetchText(address: string): Promise<{ text: string | null; version: string }> {
  const response = await fetch(address);
  if (!response.ok) {
    throw new ApiProblem(response.status, (await response.json().catch(() => ({}))) as Partial<Problem>);
  }
  const version = (response.headers.get("ETag") ?? "").replaceAll('"', "");
  return { text: textOf(await response.arrayBuffer()), version };
}
