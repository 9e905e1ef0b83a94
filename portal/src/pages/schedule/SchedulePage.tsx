import { Alert, Anchor, Group, Paper, SegmentedControl, Select, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";

import { LaneChart } from "./LaneChart";
import { AHEADS, ownersOf, WINDOWS, type Lane, type ScheduleView } from "./lanes";
import type { Schemas } from "@/api/client";
import { SOON } from "@/api/pacing";
import { queries } from "@/api/queries";
import { ownerLegend } from "@/pages/cluster/legend";
import { useLiveQueue } from "@/pages/queue/live_queue";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Legend, type LegendEntry } from "@/parts/Legend";
import { Scrolled } from "@/parts/Scrolled";
import { Expected } from "@/parts/Time";
import { useWords } from "@/words/language";
import type { Words } from "@/words/shape";

const route = getRouteApi("/schedule");
const LIVE = [["schedule"]];

/** Who ran and runs where, as lanes over time, and who is next. */
export function SchedulePage() {
  const words = useWords();
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/schedule" });
  const show = (search: ScheduleView) => void navigate({ search, replace: true });
  const since = view.since ?? "1h";
  const ahead = view.ahead ?? "1h";
  const schedule = useQuery(queries.schedule(since, view.cluster));
  const clusters = useQuery(queries.clusters());
  useLiveQueue(LIVE, SOON);
  return (
    <>
      <Group justify="space-between" mb="xs">
        <Title order={1} size="h3">
          {words.schedule.title}
        </Title>
        <Group gap="xs">
          <Select
            aria-label={words.jobs.cluster}
            placeholder={words.jobs.cluster}
            data={clusters.data?.items.map((cluster) => cluster.name) ?? []}
            value={view.cluster ?? null}
            onChange={(cluster) => show(cluster ? { since, ahead, cluster } : { since, ahead })}
            clearable
            w={150}
          />
          <SegmentedControl
            aria-label={words.schedule.window}
            data={WINDOWS.map((value) => ({ value, label: words.schedule.windows[value] }))}
            value={since}
            onChange={(value) => show({ ...view, since: value })}
          />
          <SegmentedControl
            aria-label={words.schedule.ahead}
            data={AHEADS.map((value) => ({ value, label: words.schedule.aheads[value] }))}
            value={ahead}
            onChange={(value) => show({ ...view, ahead: value })}
          />
        </Group>
      </Group>
      {schedule.error && <ProblemBox error={schedule.error} onRetry={() => void schedule.refetch()} />}
      {schedule.isPending && <Loading />}
      {schedule.data && (
        <>
          {schedule.data.isCut && <Alert mb="xs" title={words.schedule.cut} />}
          {schedule.data.lanes.length === 0 ? (
            <EmptyState title={words.schedule.noLanes} />
          ) : (
            <>
              <LaneChart schedule={schedule.data} ahead={ahead} />
              <Legend entries={spanLegend(words, schedule.data.lanes)} />
            </>
          )}
          <Next schedule={schedule.data} />
        </>
      )}
    </>
  );
}

/** What colours and edges of the spans mean. */
const spanLegend = (words: Words, lanes: readonly Lane[]): LegendEntry[] => [
  ...ownerLegend(words, ownersOf(lanes)).map(({ tone, meaning }) => ({ ...(tone && { tone }), meaning })),
  { tone: "held", meaning: words.cluster.legend.others },
  { edge: "running", meaning: words.schedule.stillRuns },
  { edge: "failed", meaning: words.schedule.failed },
  { coming: "reserved", meaning: words.schedule.reserved },
  { coming: "expected", meaning: words.schedule.expected },
];

function Next({ schedule }: { schedule: Schemas["ScheduleOut"] }) {
  const words = useWords();
  const rows = [
    ...schedule.reserved.map((each) => ({ ...each, kind: words.schedule.reserved })),
    ...schedule.expected.map((each) => ({ ...each, kind: words.schedule.expected })),
  ];
  return (
    <Paper withBorder p="sm" mt="sm">
      {rows.length === 0 ? (
        <Text size="sm" className="soft">
          {words.schedule.noneExpected}
        </Text>
      ) : (
        <Scrolled label={words.schedule.expected}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words.schedule.title}</Table.Th>
                <Table.Th>{words.jobs.name}</Table.Th>
                <Table.Th>{words.jobs.owner}</Table.Th>
                <Table.Th>{words.schedule.starts}</Table.Th>
                <Table.Th>{words.schedule.nodes}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {rows.map((row, index) => (
                <Table.Tr key={`${row.kind} ${row.job ?? index}`}>
                  <Table.Td>{row.kind}</Table.Td>
                  <Table.Td>
                    {row.job ? (
                      <Anchor
                        renderRoot={(props) => <Link {...props} to="/jobs/$ref" params={{ ref: row.job ?? "" }} />}
                      >
                        {row.name}
                      </Anchor>
                    ) : (
                      words.schedule.hidden
                    )}
                  </Table.Td>
                  <Table.Td>{row.owner}</Table.Td>
                  <Table.Td>
                    <Expected at={row.from} />
                  </Table.Td>
                  <Table.Td>{row.nodes.join(", ")}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Scrolled>
      )}
    </Paper>
  );
}
