import { Button, Chip, Group, Stack, Text, Title } from "@mantine/core";
import { useInfiniteQuery, useQueries } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";

import { SweepProgress } from "./SweepProgress";
import { readSweepsView, type Sweep } from "./view";
import { queries } from "@/api/queries";
import { useNamedOwner } from "@/app/ownName";
import { useMe } from "@/app/session";
import { Command, quoted } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Listing, type Part } from "@/parts/Listing";
import { valueText } from "@/parts/plots/scales";
import { StateBadge } from "@/parts/StateBadge";
import { Ago } from "@/parts/Time";
import { WithCode } from "@/parts/WithCode";
import { useWords } from "@/words/language";

const route = getRouteApi("/sweeps");
/** Of so many sweeps the best value is asked for: each costs the server a look at all of its members. */
const MOST_BEST = 20;

/** Many jobs as one object: how far each sweep is, and the best member so far. */
export function SweepsPage() {
  const words = useWords();
  const w = words.sweeps;
  const { user } = useMe();
  const navigate = useNavigate({ from: "/sweeps" });
  const change = (part: Record<string, unknown>) =>
    void navigate({ search: (old) => readSweepsView({ ...old, ...part }), replace: true });
  const view = useNamedOwner(route.useSearch(), change);
  const list = useInfiniteQuery(queries.sweeps(view));
  const sweeps = list.data?.pages.flatMap((page) => page.items) ?? [];
  const best = useBest(sweeps);
  const parts: Part<Sweep>[] = [
    {
      label: w.name,
      cell: (sweep) => (
        <Link className="link" to="/sweeps/$ref" params={{ ref: sweep.id }}>
          {sweep.name}
        </Link>
      ),
    },
    { label: w.state, cell: (sweep) => <StateBadge state={sweep.state} /> },
    { label: w.owner, cell: (sweep) => sweep.owner },
    { label: w.progress, cell: (sweep) => <SweepProgress sweep={sweep} /> },
    { label: w.members, cell: (sweep) => sweep.members, isNumber: true },
    {
      label: w.best,
      cell: (sweep) => {
        const found = best.get(sweep.id);
        return found ? `${sweep.metric} ${valueText(found.value)} (${found.name})` : "–";
      },
    },
    { label: w.created, cell: (sweep) => <Ago at={sweep.createdAt} /> },
  ];
  return (
    <Stack gap="sm">
      <Title order={1} size="h3">
        {w.title}
      </Title>
      <Group gap={8}>
        <Chip size="xs" checked={view.owner === user} onChange={(isOn) => change({ owner: isOn ? user : undefined })}>
          {words.jobs.mine}
        </Chip>
        <Chip size="xs" checked={view.open ?? false} onChange={(isOn) => change({ open: isOn || undefined })}>
          {w.onlyOpen}
        </Chip>
        <Command
          line={`muster sweep list${view.owner ? ` --owner ${quoted(view.owner)}` : ""}${view.open ? " --open" : ""}`}
        />
      </Group>
      {list.error && <ProblemBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading />}
      {list.data && sweeps.length === 0 && (
        <EmptyState title={w.none}>
          <Text size="sm">
            <WithCode text={w.how} />
          </Text>
        </EmptyState>
      )}
      {sweeps.length > 0 && <Listing label={w.title} parts={parts} rows={sweeps} keyOf={(sweep) => sweep.id} />}
      {list.hasNextPage && (
        <Button variant="default" loading={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          {words.common.more}
        </Button>
      )}
    </Stack>
  );
}

/** The best members of the newest sweeps that have a metric. Those that the reader may not read have none. */
function useBest(sweeps: readonly Sweep[]) {
  const asked = sweeps.filter((sweep) => sweep.metric).slice(0, MOST_BEST);
  return useQueries({
    queries: asked.map((sweep) => queries.sweep(sweep.id)),
    combine: (answers) => new Map(answers.flatMap(({ data }) => (data?.best ? [[data.id, data.best] as const] : []))),
  });
}
