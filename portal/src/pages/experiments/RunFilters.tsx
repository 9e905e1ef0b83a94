import { Chip, Group, Select, TagsInput, TextInput } from "@mantine/core";

import type { ConditionField, ExperimentsView } from "./view";
import { useMe } from "@/app/session";
import { JOB_STATES } from "@/pages/jobs/view";
import { useDraft } from "@/parts/draft";
import { SearchIcon } from "@/parts/icons";
import { named, useLanguage } from "@/words/language";

export type ChangeView = (change: Partial<Record<keyof ExperimentsView, unknown>>) => void;

interface FilterProps {
  view: ExperimentsView;
  change: ChangeView;
  /** What the server says about the conditions of one field. */
  refusal?: { field: ConditionField; text: string } | undefined;
}

const AGES = ["24h", "7d", "30d"] as const;

/** Whose and which jobs, and conditions on what they were given and what they reported. */
export function RunFilters({ view, change, refusal }: FilterProps) {
  const { words } = useLanguage();
  const w = words.experiments;
  const { user } = useMe();
  const [text, setText] = useDraft(view.text ?? "", (value) => change({ text: value || undefined }));
  const [sweep, setSweep] = useDraft(view.sweep ?? "", (value) => change({ sweep: value || undefined }));
  const conditions = (name: ConditionField) => ({
    value: view[name] ?? [],
    onChange: (values: string[]) => change({ [name]: values.length > 0 ? values : undefined }),
    error: refusal?.field === name && refusal.text,
  });
  return (
    <Group gap={8} align={refusal ? "flex-start" : "flex-end"}>
      <Chip size="xs" checked={view.owner === user} onChange={(isOn) => change({ owner: isOn ? user : undefined })}>
        {words.jobs.mine}
      </Chip>
      <TextInput
        type="search"
        data-page-search
        label={words.common.search}
        w={170}
        leftSection={<SearchIcon />}
        placeholder={words.jobs.search}
        value={text}
        onChange={(event) => setText(event.currentTarget.value)}
      />
      <TagsInput label={w.params} placeholder={view.param ? "" : "lr<0.1"} w={170} {...conditions("param")} />
      <TagsInput label={w.metrics} placeholder={view.having ? "" : "acc>=0.9"} w={170} {...conditions("having")} />
      <TagsInput
        label={words.jobs.labels}
        placeholder={view.label ? "" : "team=vision"}
        w={160}
        {...conditions("label")}
      />
      <TextInput label={w.sweep} w={130} value={sweep} onChange={(event) => setSweep(event.currentTarget.value)} />
      <Select
        label={words.jobs.state}
        w={130}
        clearable
        data={JOB_STATES.map((state) => ({ value: state, label: named(words.states, state) }))}
        value={view.state ?? null}
        onChange={(state) => change({ state: state ?? undefined })}
      />
      <Select
        label={words.jobs.created}
        w={130}
        clearable
        placeholder={words.jobs.anyTime}
        data={AGES.map((age) => ({ value: age, label: words.jobs.ages[age] }))}
        value={view.since ?? null}
        onChange={(since) => change({ since: since ?? undefined })}
      />
    </Group>
  );
}
