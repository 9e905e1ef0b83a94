import { Button, Group, Text } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { MOST_COMPARED } from "./ExperimentsPage";
import type { ChangeView } from "./RunFilters";
import {
  differing,
  metricColumn,
  metricOf,
  namesOf,
  paramColumn,
  sorted,
  sortingOf,
  type ExperimentsView,
  type Run,
  type Use,
} from "./view";
import { JobLink } from "@/pages/jobs/columns";
import { bytesText, durationText } from "@/parts/amounts";
import { ColumnChooser } from "@/parts/ColumnChooser";
import { useColumns, type Column } from "@/parts/columns";
import { DataTable } from "@/parts/DataTable";
import { valueText } from "@/parts/plots/scales";
import { useSelection } from "@/parts/selection";
import { StateBadge } from "@/parts/StateBadge";
import { Ago } from "@/parts/Time";
import { fill, plural, useLanguage } from "@/words/language";

const MOST_FIRST = 6;
const keyOf = (run: Run) => run.id;
const nameOf = (run: Run) => run.name;

interface RunTableProps {
  runs: Run[];
  view: ExperimentsView;
  change: ChangeView;
}

/** A line for each job, with its parameters and metrics as columns. Some are chosen and compared. */
export function RunTable({ runs, view, change }: RunTableProps) {
  const { language, words } = useLanguage();
  const w = words.experiments;
  const navigate = useNavigate({ from: "/experiments" });
  const use = view.use ?? "last";
  const all = useRunColumns(runs, use);
  const first = useMemo(
    () => [
      ...["state", "owner", "submitted", "ran", "gpuHours"],
      ...differing(runs).slice(0, MOST_FIRST).map(paramColumn),
      ...namesOf(runs, "metrics").slice(0, MOST_FIRST).map(metricColumn),
    ],
    [runs],
  );
  const columns = useColumns<Run>("experiments", all, first);
  const sorting = sortingOf(view);
  const rows = useMemo(() => sorted(runs, sortingOf(view), use), [runs, view, use]);
  const selection = useSelection(useMemo(() => rows.map(keyOf), [rows]));
  const count = selection.keys.size;
  return (
    <>
      <Group gap={8} justify="space-between">
        <Group gap={8}>
          <Text size="sm" role="status">
            {count > 0 ? plural(language, words.table.selected, count) : w.chooseHint}
          </Text>
          <Button
            size="compact-sm"
            disabled={count < 2 || count > MOST_COMPARED}
            onClick={() => void navigate({ to: "/experiments/compare", search: { job: [...selection.keys] } })}
          >
            {w.compare}
          </Button>
          {count > MOST_COMPARED && <Text size="sm">{fill(w.tooMany, { n: MOST_COMPARED })}</Text>}
          {count > 0 && (
            <Button variant="subtle" size="compact-sm" onClick={selection.clear}>
              {words.table.unselect}
            </Button>
          )}
        </Group>
        <ColumnChooser all={all} columns={columns} />
      </Group>
      <DataTable
        label={w.title}
        columns={columns.shown}
        rows={rows}
        keyOf={keyOf}
        nameOf={nameOf}
        sorting={sorting}
        onSort={({ by, isDescending }) => change({ sort: by, order: isDescending ? "desc" : "asc" })}
        selection={selection}
        onOpen={(run) => void navigate({ to: "/jobs/$ref", params: { ref: run.id } })}
        card={(run) => <RunCard run={run} use={use} />}
      />
    </>
  );
}

function useRunColumns(runs: readonly Run[], use: Use): Column<Run>[] {
  const { words } = useLanguage();
  return useMemo(() => {
    const w = words.experiments;
    const number = (id: string, label: string, width: number, cell: Column<Run>["cell"]): Column<Run> => ({
      id,
      label,
      width,
      cell,
      sort: id,
      isNumber: true,
    });
    return [
      { id: "name", label: w.job, width: 190, cell: (run) => <JobLink job={run} />, sort: "name", isFixed: true },
      { id: "state", label: w.state, width: 120, cell: (run) => <StateBadge state={run.state} />, sort: "state" },
      { id: "owner", label: w.owner, width: 90, cell: (run) => run.owner, sort: "owner" },
      { id: "cluster", label: w.cluster, width: 100, cell: (run) => run.cluster, sort: "cluster" },
      number("submitted", w.submitted, 110, (run) => <Ago at={run.submittedAt} />),
      number("ran", w.ran, 100, (run) => durationText(words, run.ranS)),
      number("gpuHours", w.gpuHours, 100, (run) => valueText(run.gpuHours)),
      number("cost", w.cost, 90, (run) => valueText(run.cost)),
      number("peakMemory", w.peakMemory, 110, (run) =>
        run.peakMemoryBytes === null ? "–" : bytesText(run.peakMemoryBytes),
      ),
      ...namesOf(runs, "params").map((name) =>
        number(paramColumn(name), name, 104, (run) => valueText(run.params[name])),
      ),
      ...namesOf(runs, "metrics").map((name) =>
        number(metricColumn(name), name, 104, (run) => valueText(metricOf(run, name, use))),
      ),
    ];
  }, [words, runs, use]);
}

const MOST_ON_CARD = 4;

function RunCard({ run, use }: { run: Run; use: Use }) {
  const pairs = [
    ...Object.entries(run.params).map(([name, value]) => `${name}=${valueText(value)}`),
    ...Object.keys(run.metrics).map((name) => `${name} ${valueText(metricOf(run, name, use))}`),
  ];
  return (
    <>
      <Group justify="space-between" gap={6} wrap="nowrap">
        <JobLink job={run} />
        <StateBadge state={run.state} />
      </Group>
      <Text size="xs" className="soft one-line">
        {run.owner} · <Ago at={run.submittedAt} />
      </Text>
      <Text size="xs" className="one-line">
        {pairs.slice(0, MOST_ON_CARD).join(" · ")}
      </Text>
    </>
  );
}
