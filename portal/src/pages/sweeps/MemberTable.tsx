import { Group, Select, Text, Title } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import classes from "./Sweeps.module.css";
import { paramColumn, paramOf, readSweepView, sortedMembers, sortingOf, type Sweep } from "./view";
import type { SweepMember } from "@/api/queries";
import { JobLink } from "@/pages/jobs/columns";
import { JOB_STATES } from "@/pages/jobs/view";
import type { Column } from "@/parts/columns";
import { DataTable } from "@/parts/DataTable";
import { valueText } from "@/parts/plots/scales";
import { StateBadge } from "@/parts/StateBadge";
import { Elapsed } from "@/parts/Time";
import { named, useWords } from "@/words/language";

const route = getRouteApi("/sweeps/$ref");
const keyOf = (member: SweepMember) => member.job;
const nameOf = (member: SweepMember) => member.name;

/** The members with their params and values, which change while they run. */
export function MemberTable({ sweep, members }: { sweep: Sweep; members: SweepMember[] }) {
  const words = useWords();
  const w = words.sweeps;
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/sweeps/$ref" });
  const change = (part: Record<string, unknown>) =>
    void navigate({ search: (old) => readSweepView({ ...old, ...part }), replace: true });
  const columns = useMemberColumns(sweep);
  const sorting = sortingOf(view, sweep);
  const rows = useMemo(
    () =>
      sortedMembers(
        view.state ? members.filter((member) => member.state === view.state) : members,
        sortingOf(view, sweep),
      ),
    [members, view, sweep],
  );
  return (
    <section aria-label={w.membersTitle} className={classes.members}>
      <Group justify="space-between" gap="xs">
        <Title order={2} size="h5">
          {w.membersTitle}
        </Title>
        <Select
          aria-label={w.state}
          placeholder={words.common.all}
          w={150}
          clearable
          data={JOB_STATES.map((state) => ({ value: state, label: named(words.states, state) }))}
          value={view.state ?? null}
          onChange={(state) => change({ state: state ?? undefined })}
        />
      </Group>
      <DataTable
        label={w.membersTitle}
        columns={columns}
        rows={rows}
        keyOf={keyOf}
        nameOf={nameOf}
        sorting={sorting}
        onSort={({ by, isDescending }) => change({ sort: by, order: isDescending ? "desc" : "asc" })}
        onOpen={(member) => void navigate({ to: "/jobs/$ref", params: { ref: member.job } })}
        card={(member) => <MemberCard sweep={sweep} member={member} />}
      />
    </section>
  );
}

function useMemberColumns(sweep: Sweep): Column<SweepMember>[] {
  const words = useWords();
  const names = sweep.params.join("\0");
  const { metric } = sweep;
  return useMemo(() => {
    const w = words.sweeps;
    const number = (id: string, label: string, cell: Column<SweepMember>["cell"]): Column<SweepMember> => ({
      id,
      label,
      width: 104,
      cell,
      sort: id,
      isNumber: true,
    });
    return [
      { ...number("member", w.number, (member) => member.member), width: 70 },
      {
        id: "name",
        label: w.job,
        width: 190,
        cell: (member) => <JobLink job={{ id: member.job, name: member.name }} />,
      },
      { id: "state", label: w.state, width: 120, cell: (member) => <StateBadge state={member.state} />, sort: "state" },
      ...names
        .split("\0")
        .filter(Boolean)
        .map((name) => number(paramColumn(name), name, (member) => valueText(paramOf(member, name)))),
      ...(metric
        ? [
            number("value", metric, (member) => valueText(member.value)),
            number("step", w.step, (member) => valueText(member.step)),
          ]
        : []),
      { ...number("ended", w.ran, (member) => <Elapsed from={member.startedAt} to={member.endedAt} />) },
      {
        id: "reason",
        label: w.reason,
        width: 220,
        isWide: true,
        cell: (member) => <span title={member.reason}>{member.reason}</span>,
      },
    ];
  }, [words, names, metric]);
}

function MemberCard({ sweep, member }: { sweep: Sweep; member: SweepMember }) {
  return (
    <>
      <Group justify="space-between" gap={6} wrap="nowrap">
        <JobLink job={{ id: member.job, name: member.name }} />
        <StateBadge state={member.state} />
      </Group>
      <Text size="xs" className="one-line">
        {sweep.params.map((name) => `${name}=${valueText(paramOf(member, name))}`).join(" · ")}
      </Text>
      <Text size="xs" className="one-line">
        {sweep.metric && `${sweep.metric} ${valueText(member.value)}`} {member.reason}
      </Text>
    </>
  );
}
