import { Autocomplete, Chip, Group, MultiSelect, Select, Switch, TagsInput, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { JOB_STATES, QUICK, quickOf, type JobsView, type Quick } from "./view";
import { queries } from "@/api/queries";
import { useMe } from "@/app/session";
import { useDraft } from "@/parts/draft";
import { SearchIcon } from "@/parts/icons";
import { named, useLanguage } from "@/words/language";

export type ChangeView = (change: Partial<Record<keyof JobsView, unknown>>) => void;

interface FilterProps {
  view: JobsView;
  change: ChangeView;
}

/** The choices that people need all day: mine, running, waiting, failed, all. */
export function QuickChips({ view, change }: FilterProps) {
  const { words } = useLanguage();
  const { user } = useMe();
  const chosen = quickOf(view);
  return (
    <Group gap={6} role="group" aria-label={words.jobs.quick}>
      <Chip size="xs" checked={view.owner === user} onChange={(isOn) => change({ owner: isOn ? user : undefined })}>
        {words.jobs.mine}
      </Chip>
      <Chip
        size="xs"
        checked={view.members === true}
        disabled={view.origin === "others"}
        onChange={(isOn) => change({ members: isOn || undefined })}
      >
        {words.jobs.members}
      </Chip>
      {(["all", ...(Object.keys(QUICK) as Quick[])] as const).map((quick) => (
        <Chip
          key={quick}
          size="xs"
          type="radio"
          name="quick-states"
          checked={chosen === quick}
          onChange={() => change({ state: quick === "all" ? undefined : [...QUICK[quick]] })}
        >
          {words.jobs.quickStates[quick]}
        </Chip>
      ))}
    </Group>
  );
}

/** The text that is searched for: it becomes part of the address when the reader pauses. */
export function SearchField({ view, change }: FilterProps) {
  const { words } = useLanguage();
  const [text, setText] = useDraft(view.text ?? "", (value) => change({ text: value || undefined }));
  return (
    <TextInput
      type="search"
      data-page-search
      w={220}
      leftSection={<SearchIcon />}
      aria-label={words.jobs.search}
      placeholder={words.jobs.search}
      value={text}
      onChange={(event) => setText(event.currentTarget.value)}
    />
  );
}

/** All fields of the filter. */
export function FilterFields({ view, change, owners }: FilterProps & { owners: string[] }) {
  const { words } = useLanguage();
  return (
    <Group gap={8} align="flex-end">
      <MultiSelect
        label={words.jobs.state}
        w={230}
        data={JOB_STATES.map((state) => ({ value: state, label: named(words.states, state) }))}
        value={view.state ?? []}
        onChange={(state) => change({ state: state.length > 0 ? state : undefined })}
        clearable
      />
      <OwnerField view={view} change={change} owners={owners} />
      <PlaceField view={view} change={change} />
      <TagsInput
        label={words.jobs.labels}
        placeholder={view.label ? "" : "team=vision"}
        w={200}
        value={view.label ?? []}
        onChange={(labels) => change({ label: labels.filter((each) => each.indexOf("=") > 0) })}
      />
      <ReasonField view={view} change={change} />
      <TimeFields view={view} change={change} />
      <Switch
        label={words.jobs.others}
        checked={view.origin === "others"}
        onChange={(event) =>
          change({ origin: event.currentTarget.checked ? "others" : undefined, sort: undefined, order: undefined })
        }
        pb={6}
      />
    </Group>
  );
}

function OwnerField({ view, change, owners }: FilterProps & { owners: string[] }) {
  const { words } = useLanguage();
  const [owner, setOwner] = useDraft(view.owner ?? "", (value) => change({ owner: value || undefined }));
  return <Autocomplete label={words.jobs.owner} w={130} data={owners} value={owner} onChange={setOwner} />;
}

function PlaceField({ view, change }: FilterProps) {
  const { words } = useLanguage();
  const clusters = useQuery(queries.clusters()).data?.items ?? [];
  const virtual = useQuery(queries.virtualClusters()).data?.items ?? [];
  const value = view.vc ? `vc ${view.vc}` : view.cluster ? `cluster ${view.cluster}` : null;
  return (
    <Select
      label={words.jobs.place}
      w={150}
      clearable
      value={value}
      data={[
        { group: words.jobs.cluster, items: clusters.map(({ name }) => ({ value: `cluster ${name}`, label: name })) },
        { group: words.jobs.vc, items: virtual.map(({ name }) => ({ value: `vc ${name}`, label: name })) },
      ]}
      onChange={(chosen) => {
        const [kind, name] = chosen?.split(" ") ?? [];
        change({ cluster: kind === "cluster" ? name : undefined, vc: kind === "vc" ? name : undefined });
      }}
    />
  );
}

function ReasonField({ view, change }: FilterProps) {
  const { words } = useLanguage();
  const [reason, setReason] = useDraft(view.reason ?? "", (value) => change({ reason: value || undefined }));
  return (
    <TextInput
      label={words.jobs.reason}
      w={150}
      value={reason}
      disabled={view.origin === "others"}
      onChange={(event) => setReason(event.currentTarget.value)}
    />
  );
}

const AGES = ["1h", "24h", "7d", "30d"] as const;
const CUSTOM = "custom";

function TimeFields({ view, change }: FilterProps) {
  const { words } = useLanguage();
  const isAge = AGES.some((age) => age === view.since) && !view.until;
  const isCustom = !isAge && (view.since !== undefined || view.until !== undefined);
  const [isOpen, setIsOpen] = useState(isCustom);
  return (
    <>
      <Select
        label={words.jobs.created}
        w={140}
        clearable
        placeholder={words.jobs.anyTime}
        value={isOpen || isCustom ? CUSTOM : (view.since ?? null)}
        data={[
          ...AGES.map((age) => ({ value: age, label: words.jobs.ages[age] })),
          { value: CUSTOM, label: words.jobs.customTime },
        ]}
        onChange={(value) => {
          setIsOpen(value === CUSTOM);
          change({ since: value === CUSTOM ? view.since : (value ?? undefined), until: undefined });
        }}
      />
      {(isOpen || isCustom) && (
        <>
          <TimeField
            label={words.jobs.from}
            value={isAge ? undefined : view.since}
            onChange={(since) => change({ since })}
          />
          <TimeField label={words.jobs.until} value={view.until} onChange={(until) => change({ until })} />
        </>
      )}
    </>
  );
}

interface TimeFieldProps {
  label: string;
  value: string | undefined;
  onChange: (at: string | undefined) => void;
}

function TimeField({ label, value, onChange }: TimeFieldProps) {
  return (
    <TextInput
      type="datetime-local"
      label={label}
      value={value ? localTime(value) : ""}
      onChange={(event) => {
        const at = event.currentTarget.value;
        onChange(at ? new Date(at).toISOString() : undefined);
      }}
    />
  );
}

/** An instant as the field for times takes it: in the time zone of the browser, without seconds. */
export function localTime(iso: string): string {
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return "";
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}
