import { Anchor, Button, Group, Stack, Text, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import classes from "./Models.module.css";
import { paramsText } from "./ModelsPage";
import { fileAddress, ownerOption, refOf, type Model } from "./view";
import { answer, api } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayWork, useMe } from "@/app/session";
import { bytesText } from "@/parts/amounts";
import { Command, quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Listing, type Part } from "@/parts/Listing";
import { Section } from "@/parts/Section";
import { Ago } from "@/parts/Time";
import { fill, useWords } from "@/words/language";

const route = getRouteApi("/models/$name");

/** One model: its versions, and of one of them the files, and the job, code, data and params that it comes from. */
export function ModelPage() {
  const words = useWords();
  const { name } = route.useParams();
  const { owner, version } = route.useSearch();
  const versions = useQuery(queries.modelVersions(name, owner));
  const items = versions.data?.items ?? [];
  const shown = items.find((each) => each.version === version) ?? items[0];
  return (
    <Stack gap="sm">
      <Title order={1} size="h3">
        {name}
      </Title>
      {versions.error && <ProblemBox error={versions.error} onRetry={() => void versions.refetch()} />}
      {versions.isPending && <Loading />}
      {versions.data && items.length === 0 && <EmptyState title={words.models.missing} />}
      {shown && (
        <>
          <Versions versions={items} shown={shown} />
          <Version key={shown.id} model={shown} />
        </>
      )}
    </Stack>
  );
}

function Versions({ versions, shown }: { versions: Model[]; shown: Model }) {
  const words = useWords();
  const w = words.models;
  const mayWork = useMayWork();
  const [removing, setRemoving] = useState<Model[] | null>(null);
  const parts: Part<Model>[] = [
    {
      label: w.version,
      cell: (model) => (
        <Link
          className="link"
          to="/models/$name"
          params={{ name: model.name }}
          search={(old) => ({ ...(old.owner && { owner: old.owner }), version: model.version })}
          aria-current={model === shown ? "true" : undefined}
        >
          {model === shown ? fill(w.shownVersion, { ref: refOf(model) }) : refOf(model)}
        </Link>
      ),
    },
    { label: w.size, cell: (model) => bytesText(model.sizeBytes), isNumber: true },
    { label: w.job, cell: (model) => model.lineage.job },
    { label: w.params, cell: (model) => paramsText(model.lineage.params) },
    { label: w.registered, cell: (model) => <Ago at={model.createdAt} /> },
    { label: w.description, cell: (model) => model.description },
  ];
  if (mayWork) {
    parts.push({
      label: w.acts,
      cell: (model) => (
        <Button
          variant="default"
          size="compact-xs"
          aria-label={fill(w.removeOf, { ref: refOf(model) })}
          onClick={() => setRemoving([model])}
        >
          {w.remove}
        </Button>
      ),
    });
  }
  return (
    <Section
      title={w.versions}
      aside={
        mayWork &&
        versions.length > 1 && (
          <Button variant="default" size="compact-sm" onClick={() => setRemoving(versions)}>
            {w.removeAll}
          </Button>
        )
      }
    >
      <Listing label={w.versions} parts={parts} rows={versions} keyOf={(model) => model.id} />
      {removing && (
        <Removing models={removing} isAll={removing.length === versions.length} onClose={() => setRemoving(null)} />
      )}
    </Section>
  );
}

function Removing({ models, isAll, onClose }: { models: Model[]; isAll: boolean; onClose: () => void }) {
  const words = useWords();
  const w = words.models;
  const { user } = useMe();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [first] = models as [Model];
  const isOne = models.length === 1;
  const removing = useMutation({
    mutationFn: () =>
      answer(
        api.DELETE("/api/v1/models/{ref}", {
          params: { path: { ref: first.id }, query: isOne ? {} : { all: true } },
        }),
      ),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["models"] });
      onClose();
      if (isAll) void navigate({ to: "/models" });
    },
  });
  const what = isOne ? quoted(refOf(first)) : `${quoted(first.name)} --all`;
  return (
    <ConfirmDialog
      isOpen
      title={isOne ? fill(w.removeAsk, { ref: refOf(first) }) : fill(w.removeAllAsk, { name: first.name })}
      text={w.removeWhat}
      commands={[`muster model delete ${what}${ownerOption(first, user)}`]}
      confirm={w.remove}
      isDangerous
      isPending={removing.isPending}
      error={removing.error}
      onConfirm={() => removing.mutate()}
      onClose={onClose}
    />
  );
}

function Version({ model }: { model: Model }) {
  const words = useWords();
  const w = words.models;
  const { user } = useMe();
  const found = useQuery(queries.model(model.id));
  const files = found.data?.files ?? [];
  type File = (typeof files)[number];
  const parts: Part<File>[] = [
    { label: w.file, cell: (file) => file.path },
    { label: w.size, cell: (file) => bytesText(file.size), isNumber: true },
    { label: w.digest, cell: (file) => <code className={classes.digest}>{file.sha256.slice(0, 16)}…</code> },
    {
      label: w.acts,
      cell: (file) => (
        <Anchor
          size="sm"
          href={fileAddress(model, file.path)}
          download={file.path.split("/").at(-1)}
          aria-label={fill(words.job.outputs.download, { name: file.path })}
        >
          {words.job.logs.download}
        </Anchor>
      ),
    },
  ];
  return (
    <>
      <Section title={fill(w.lineageOf, { ref: refOf(model) })}>
        <Lineage model={model} />
      </Section>
      <Section
        title={w.files}
        aside={<Command line={`muster model get ${quoted(refOf(model))}${ownerOption(model, user)}`} />}
      >
        {found.error && <ProblemBox error={found.error} onRetry={() => void found.refetch()} />}
        {found.isPending && <Loading />}
        {files.length > 0 && <Listing label={w.files} parts={parts} rows={files} keyOf={(file) => file.path} />}
      </Section>
    </>
  );
}

function Lineage({ model }: { model: Model }) {
  const words = useWords();
  const w = words.models;
  const { lineage } = model;
  const facts: [string, ReactNode][] = [
    [
      w.job,
      <Link key="job" className="link" to="/jobs/$ref" params={{ ref: lineage.jobId }}>
        {lineage.job}
      </Link>,
    ],
    [w.attempt, lineage.attempt],
    [w.output, lineage.path],
    [
      w.sweep,
      lineage.sweep && (
        <Link key="sweep" className="link" to="/sweeps/$ref" params={{ ref: lineage.sweep }}>
          {fill(w.member, { n: lineage.member })}
        </Link>
      ),
    ],
    [w.params, paramsText(lineage.params)],
    [w.code, lineage.package],
    [w.data, [...lineage.inputs, ...lineage.mounts].join(", ")],
    [w.image, lineage.image],
    [w.framework, lineage.framework],
    [w.cluster, lineage.cluster],
  ];
  return (
    <Group component="dl" m={0} gap="lg" align="flex-start">
      {facts
        .filter(([, value]) => value !== "")
        .map(([label, value]) => (
          <div key={label} className={classes.fact}>
            <Text size="xs" className="soft" component="dt">
              {label}
            </Text>
            <Text size="sm" component="dd" m={0}>
              {value}
            </Text>
          </div>
        ))}
    </Group>
  );
}
