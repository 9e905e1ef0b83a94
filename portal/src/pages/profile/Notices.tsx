import { Alert, Button, Checkbox, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { chosenOf, commandOf, fieldsOf, KINDS, TOPICS, type Fields, type Settings } from "./notices";
import { answer, api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayDoAll, useMe } from "@/app/session";
import { Command } from "@/parts/Command";
import { Loading, ProblemBox } from "@/parts/feedback";
import { Listing, type Part } from "@/parts/Listing";
import { Section } from "@/parts/Section";
import { Ago } from "@/parts/Time";
import { fill, named, useWords } from "@/words/language";

type Notice = Schemas["NoticeOut"];

/** What the reader is told about their own jobs, and how. */
export function Notices() {
  const words = useWords();
  const mayDoAll = useMayDoAll();
  const settings = useQuery(queries.noticeSettings());
  return (
    <Section title={words.notices.title} text={words.notices.why}>
      {settings.error && <ProblemBox error={settings.error} onRetry={() => void settings.refetch()} />}
      {settings.isPending && <Loading />}
      {settings.data && mayDoAll && <Form key={JSON.stringify(settings.data)} settings={settings.data} />}
      <Sent />
    </Section>
  );
}

function Form({ settings }: { settings: Settings }) {
  const words = useWords();
  const w = words.notices;
  const [fields, setFields] = useState(() => fieldsOf(settings));
  const set = (part: Partial<Fields>) => setFields((old) => ({ ...old, ...part }));
  const saving = useNoticeAct(() => answer(api.PUT("/api/v1/notices/settings", { body: chosenOf(fields) })));
  const clearing = useNoticeAct(() => answer(api.DELETE("/api/v1/notices/settings")));
  const testing = useNoticeAct(() => answer(api.POST("/api/v1/notices/test")));
  const isSaved = JSON.stringify(fields) === JSON.stringify(fieldsOf(settings));
  const error = saving.error ?? clearing.error ?? testing.error;
  return (
    <Stack gap="xs">
      <Text size="sm" role="status">
        {settings.ways.length > 0 ? fill(w.toldBy, { ways: settings.ways.join(", ") }) : w.toldNothing}
      </Text>
      <Checkbox.Group
        label={w.topics}
        value={fields.on}
        onChange={(on) => set({ on: TOPICS.filter((topic) => on.includes(topic)) })}
      >
        <Group gap="md" mt={4}>
          {TOPICS.map((topic) => (
            <Checkbox key={topic} value={topic} label={w.topicNames[topic]} />
          ))}
        </Group>
      </Checkbox.Group>
      <Ways fields={fields} set={set} settings={settings} />
      <Times fields={fields} set={set} />
      {error && <ProblemBox error={error} />}
      {testing.isSuccess && <Alert color="green" p="xs" role="status" title={w.tested} />}
      <Group gap="xs">
        <Button disabled={isSaved} loading={saving.isPending} onClick={() => saving.mutate()}>
          {words.common.save}
        </Button>
        <Button
          variant="default"
          disabled={settings.ways.length === 0 || !isSaved}
          loading={testing.isPending}
          onClick={() => testing.mutate()}
        >
          {w.test}
        </Button>
        <Button variant="default" loading={clearing.isPending} onClick={() => clearing.mutate()}>
          {w.clear}
        </Button>
      </Group>
      <Command line={commandOf(fields)} />
    </Stack>
  );
}

interface FieldsProps {
  fields: Fields;
  set: (part: Partial<Fields>) => void;
}

function Ways({ fields, set, settings }: FieldsProps & { settings: Settings }) {
  const words = useWords();
  const w = words.notices;
  const me = useMe();
  const secrets = useQuery(queries.secrets()).data?.items ?? [];
  const names = secrets.filter((secret) => secret.owner === me.user).map((secret) => secret.name);
  return (
    <Group gap={8} align="flex-end">
      <TextInput
        label={w.mail}
        type="email"
        w={230}
        disabled={!settings.mailOffered && !fields.mail}
        placeholder={settings.mailOffered ? "" : w.noMail}
        value={fields.mail}
        onChange={(event) => set({ mail: event.currentTarget.value })}
      />
      <Select
        label={w.webhook}
        w={150}
        clearable
        data={KINDS.map((kind) => ({ value: kind, label: w.kinds[kind] }))}
        value={fields.webhook || null}
        onChange={(webhook) => set({ webhook: webhook ?? "" })}
      />
      {fields.webhook && (
        <Select
          label={w.secret}
          w={190}
          searchable
          data={[...new Set([...names, ...(fields.webhookSecret ? [fields.webhookSecret] : [])])]}
          value={fields.webhookSecret || null}
          onChange={(webhookSecret) => set({ webhookSecret: webhookSecret ?? "" })}
        />
      )}
    </Group>
  );
}

function Times({ fields, set }: FieldsProps) {
  const words = useWords();
  const w = words.notices;
  return (
    <Group gap={8} align="flex-end">
      <TextInput
        label={w.waiting}
        type="number"
        min={1}
        w={170}
        value={fields.waitingMinutes}
        onChange={(event) => set({ waitingMinutes: event.currentTarget.value })}
      />
      <TextInput
        label={w.quiet}
        placeholder="22:00-07:00"
        w={140}
        value={fields.quietHours}
        onChange={(event) => set({ quietHours: event.currentTarget.value })}
      />
      <TextInput
        label={w.timeZone}
        w={160}
        value={fields.timeZone}
        onChange={(event) => set({ timeZone: event.currentTarget.value })}
      />
      <Select
        label={words.profile.languageName}
        w={120}
        allowDeselect={false}
        data={(["en", "zh"] as const).map((value) => ({ value, label: words.profile.languages[value] }))}
        value={fields.language}
        onChange={(language) => set({ language: language === "zh" ? "zh" : "en" })}
      />
    </Group>
  );
}

function Sent() {
  const words = useWords();
  const w = words.notices;
  const notices = useQuery(queries.notices());
  const parts: Part<Notice>[] = [
    { label: w.at, cell: (notice) => <Ago at={notice.at} /> },
    { label: w.way, cell: (notice) => notice.way },
    { label: w.what, cell: (notice) => notice.title },
    { label: w.state, cell: (notice) => named(w.states, stateOf(notice)) },
    { label: w.problem, cell: (notice) => notice.error },
  ];
  if (!notices.data?.items.length) return null;
  return <Listing label={w.sentTitle} parts={parts} rows={notices.data.items} keyOf={(notice) => notice.id} />;
}

const stateOf = (notice: Notice): "sent" | "failed" | "waits" =>
  notice.sentAt ? "sent" : notice.error && notice.tries === 0 ? "failed" : "waits";

function useNoticeAct(perform: () => Promise<unknown>) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: perform,
    onSuccess: () => void client.invalidateQueries({ queryKey: ["notices"] }),
  });
}
