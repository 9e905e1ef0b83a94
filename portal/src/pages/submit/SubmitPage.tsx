import { Alert, Button, Group, Loader, SegmentedControl, Stack, Text } from "@mantine/core";
import { useDebouncedValue, useMediaQuery } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useState } from "react";

import { DryRunBox } from "./DryRunBox";
import { JobForm } from "./JobForm";
import { PackageField, type SentPackage } from "./PackageField";
import { Starts } from "./Starts";
import {
  dryRun,
  filesIn,
  hasLocalInputs,
  isSweep,
  newKey,
  submitJob,
  submitSweep,
  wantedFolder,
  type Submission,
} from "./submission";
import classes from "./SubmitPage.module.css";
import { forgetDraft, useDraft } from "./useDraft";
import { readSpec } from "./yaml_edit";
import { ApiProblem, Unreachable } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayWork } from "@/app/session";
import { Command, quoted } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { PageFrame } from "@/parts/PageFrame";
import { SubmitIcon } from "@/parts/icons";
import { WithCode } from "@/parts/WithCode";
import { lineProblems, ProblemList } from "@/parts/yaml/ProblemList";
import { useWords } from "@/words/language";

const YamlEditor = lazy(() => import("@/parts/yaml/YamlEditor"));
const route = getRouteApi("/submit");
const PAUSE_MS = 600;

/** A new job: a form and its file side by side, which follow each other, and what would become of it. */
export function SubmitPage() {
  const words = useWords();
  if (useMayWork()) return <NewJob />;
  return (
    <PageFrame title={words.submit.title}>
      <EmptyState title={words.submit.readOnly} />
    </PageFrame>
  );
}

function NewJob() {
  const words = useWords();
  const view = route.useSearch();
  const navigate = useNavigate();
  const draft = useDraft(view);
  const [sent, setSent] = useState<SentPackage | null>(null);
  const [goTo, setGoTo] = useState<{ line: number } | null>(null);
  const isNarrow = useMediaQuery("(max-width: 62em)");
  const [side, setSide] = useState<"form" | "file">("form");
  const { text, setText } = draft;
  const spec = useMemo(() => readSpec(text), [text]);
  const checked = useChecked(text, sent);
  const known = useKnownNames();
  const schema = useQuery(queries.specSchema());
  const submission: Submission = { source: text, package: sent?.digest ?? null };
  const submitting = useMutation({
    mutationFn: async ({ key, written, ofSweep }: { key: string; written: Submission; ofSweep: boolean }) =>
      ofSweep
        ? { to: "/sweeps/$ref" as const, ref: await submitSweep(written, key) }
        : { to: "/jobs/$ref" as const, ref: await submitJob(written, key) },
    onSuccess: ({ to, ref }) => {
      forgetDraft(view);
      void navigate({ to, params: { ref } });
    },
  });
  const folder = wantedFolder(spec);
  const isMissingFolder = folder !== null && sent === null;
  const tried = submitting.variables?.written;
  const isTried = tried?.source === submission.source && tried.package === submission.package;
  const refused = (isTried ? submitting.error : null) ?? checked.error;
  const problems = useMemo(() => lineProblems(problemsOf(refused)), [refused]);

  const verdict = (
    <section aria-label={words.submit.dryRun} className={classes.verdict}>
      <DryRunBox found={checked.data} isChecking={checked.isChecking} hasError={!!checked.error} />
    </section>
  );
  if (draft.isLoading) return <Loading />;
  if (draft.error) return <ProblemBox error={draft.error} />;
  return (
    <PageFrame title={words.submit.title} tools={<Starts key={JSON.stringify(view)} view={view} />}>
      {isNarrow && (
        <SegmentedControl
          aria-label={words.submit.shown}
          data={[
            { value: "form", label: words.submit.form },
            { value: "file", label: words.submit.file },
          ]}
          value={side}
          onChange={(value) => setSide(value)}
        />
      )}
      <div className={classes.sides}>
        {(!isNarrow || side === "form") && (
          <section className={classes.side} aria-label={words.submit.form}>
            {spec === null ? (
              <Alert title={words.submit.cannotFollow}>{words.submit.cannotFollowWhy}</Alert>
            ) : (
              <JobForm text={text} spec={spec} onChange={setText} clusters={known.cluster ?? []} />
            )}
            <PackageField
              folder={folder}
              offered={folder === null ? [] : filesIn(folder, draft.files)}
              sent={sent}
              onSent={setSent}
            />
          </section>
        )}
        {(!isNarrow || side === "file") && (
          <section className={classes.side} aria-label={words.submit.file}>
            <Suspense fallback={<Loader size="sm" />}>
              <YamlEditor
                label={words.submit.fileLabel}
                text={text}
                onChange={setText}
                problems={problems}
                schema={schema.data}
                known={known}
                goTo={goTo}
              />
            </Suspense>
            <Refusal error={refused} onGo={(line) => setGoTo({ line })} />
            {!isNarrow && verdict}
          </section>
        )}
      </div>
      {isNarrow && verdict}
      <Stack gap={6}>
        {hasLocalInputs(spec) && <Text size="sm">{words.submit.localInputs}</Text>}
        <Group gap="sm">
          <Button
            size="sm"
            leftSection={<SubmitIcon />}
            loading={submitting.isPending}
            disabled={isMissingFolder || !text.trim()}
            onClick={() => submitting.mutate({ key: newKey(), written: submission, ofSweep: isSweep(spec) })}
          >
            {words.submit.submit}
          </Button>
          <Command line={commandOf(spec)} />
          {isMissingFolder && <Text size="sm">{words.submit.chooseFirst}</Text>}
        </Group>
      </Stack>
    </PageFrame>
  );
}

const commandOf = (spec: Record<string, unknown> | null): string => {
  const name = typeof spec?.name === "string" && spec.name ? spec.name : "job";
  return `muster submit ${quoted(`${name}.yaml`)}`;
};

/** The server's verdict on what is written, a moment after the last key. */
function useChecked(text: string, sent: SentPackage | null) {
  const [settled] = useDebouncedValue(text, PAUSE_MS);
  const digest = sent?.digest ?? null;
  const query = useQuery({
    queryKey: ["dry-run", settled, digest],
    queryFn: () => dryRun({ source: settled, package: digest }, readSpec(settled)),
    enabled: settled.trim() !== "",
    retry: false,
    staleTime: 0,
    gcTime: 0,
  });
  return { data: query.data, error: query.error, isChecking: query.isFetching || settled !== text };
}

function useKnownNames(): Readonly<Record<string, readonly string[]>> {
  const clusters = useQuery(queries.clusters());
  const virtual = useQuery(queries.virtualClusters());
  return useMemo(() => {
    const names = [...(virtual.data?.items ?? []), ...(clusters.data?.items ?? [])].map((each) => each.name);
    return { cluster: [...new Set(names)] };
  }, [clusters.data, virtual.data]);
}

const problemsOf = (error: unknown) => (error instanceof ApiProblem ? error.problems : []);

/** What the server refuses, and what to do. */
function Refusal({ error, onGo }: { error: unknown; onGo: (line: number) => void }) {
  const words = useWords();
  if (!error) return null;
  const message = error instanceof Unreachable ? words.common.unreachable : error instanceof Error ? error.message : "";
  return (
    <Alert color="red" role="alert" title={<WithCode text={message} />} mt="xs">
      {error instanceof ApiProblem && error.hint && (
        <Text size="sm">
          <WithCode text={error.hint} />
        </Text>
      )}
      <ProblemList problems={problemsOf(error)} onGo={onGo} />
    </Alert>
  );
}
