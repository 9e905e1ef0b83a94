import { Group, Paper, SegmentedControl, Select, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";

import { COLOURINGS, freeHistogram, matches, totalsOf, type ClusterView } from "./cells";
import { HeatMap } from "./HeatMap";
import { cellLegend } from "./legend";
import { useLiveNodes } from "./live_nodes";
import { queries } from "@/api/queries";
import { useIsAdmin } from "@/app/session";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Legend } from "@/parts/Legend";
import { fill, named, plural, useLanguage } from "@/words/language";

const route = getRouteApi("/cluster");

/** All GPUs at one glance: how busy they are, whose they are, and which are sick. */
export function ClusterPage() {
  const { language, words } = useLanguage();
  const view = route.useSearch();
  const isAdmin = useIsAdmin();
  const nodes = useQuery(queries.nodes());
  useLiveNodes();
  if (nodes.error && !nodes.data) return <ProblemBox error={nodes.error} onRetry={() => void nodes.refetch()} />;
  if (!nodes.data) return <Loading />;
  const shown = nodes.data.items.filter((node) => matches(node, view));
  const totals = totalsOf(shown);
  const by = view.by ?? "load";
  return (
    <>
      <Group justify="space-between" mb="xs">
        <Title order={1} size="h3">
          {words.cluster.title}
        </Title>
        <Text size="sm">
          {fill(words.cluster.gpuTotals, { ...totals })}
          {" · "}
          {plural(language, words.cluster.nodesNumber, shown.length)}
        </Text>
      </Group>
      <Filters view={view} items={nodes.data.items} />
      {nodes.data.items.length === 0 && (
        <EmptyState title={words.cluster.noNodes}>
          {isAdmin && <Command line="muster node add NAME --ssh HOST" />}
          {isAdmin && <Link to="/cluster">{words.common.refresh}</Link>}
        </EmptyState>
      )}
      {nodes.data.items.length > 0 && shown.length === 0 && (
        <EmptyState title={words.cluster.noMatch}>
          <Link to="/cluster">{words.jobs.clear}</Link>
        </EmptyState>
      )}
      {shown.length > 0 && (
        <>
          <Group mb="xs" gap="lg" align="flex-start">
            <Legend entries={cellLegend(words, by, shown)} />
            <Histogram counts={freeHistogram(shown)} />
          </Group>
          <HeatMap nodes={shown} by={by} />
        </>
      )}
    </>
  );
}

function Filters({
  view,
  items,
}: {
  view: ClusterView;
  items: { cluster: string; state: string; gpus: { model: string }[] }[];
}) {
  const { words } = useLanguage();
  const navigate = useNavigate({ from: "/cluster" });
  const set = (change: Record<string, string | null>) => {
    const kept = { ...view, ...change };
    const search = Object.fromEntries(Object.entries(kept).filter(([, value]) => value)) as ClusterView;
    void navigate({ search, replace: true });
  };
  const clusters = unique(items.map((node) => node.cluster));
  const models = unique(items.flatMap((node) => node.gpus.map((gpu) => gpu.model)));
  const states = unique(items.map((node) => node.state)).map((state) => ({
    value: state,
    label: named(words.states, state),
  }));
  return (
    <Group mb="sm" gap="xs">
      <TextInput
        type="search"
        data-page-search
        aria-label={words.common.search}
        placeholder={words.cluster.find}
        w={220}
        value={view.text ?? ""}
        onChange={(event) => set({ text: event.currentTarget.value })}
      />
      <Select
        aria-label={words.jobs.cluster}
        placeholder={words.jobs.cluster}
        data={clusters}
        value={view.cluster ?? null}
        onChange={(cluster) => set({ cluster })}
        clearable
        w={140}
      />
      <Select
        aria-label={words.cluster.model}
        placeholder={words.cluster.model}
        data={models}
        value={view.model ?? null}
        onChange={(model) => set({ model })}
        clearable
        w={180}
      />
      <Select
        aria-label={words.jobs.state}
        placeholder={words.jobs.state}
        data={[...states, { value: "alerts", label: words.cluster.withAlerts }]}
        value={view.state ?? null}
        onChange={(state) => set({ state })}
        clearable
        w={150}
      />
      <SegmentedControl
        aria-label={words.cluster.colourBy}
        data={COLOURINGS.map((value) => ({ value, label: words.cluster.by[value] }))}
        value={view.by ?? "load"}
        onChange={(by) => set({ by })}
      />
    </Group>
  );
}

function Histogram({ counts }: { counts: number[] }) {
  const { words } = useLanguage();
  if (counts.length === 0) return null;
  return (
    <Paper withBorder px="sm" py={4}>
      <Text size="xs" className="soft">
        {words.cluster.freeGpus}
      </Text>
      <Group gap="md">
        {counts.map((nodes, free) =>
          nodes > 0 ? (
            <Text size="xs" key={free}>
              {fill(words.cluster.freeOn, { free, nodes })}
            </Text>
          ) : null,
        )}
      </Group>
    </Paper>
  );
}

const unique = (items: string[]): string[] => [...new Set(items)].sort();
