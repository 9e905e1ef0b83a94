import { Button, Group, MultiSelect, SegmentedControl, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

import { RunFilters, type ChangeView } from "./RunFilters";
import { RunTable } from "./RunTable";
import {
  differing,
  metricOf,
  MOST_RUNS,
  namesOf,
  optionsOf,
  readExperimentsView,
  refusedField,
  runQueryOf,
  USES,
  type ExperimentsView,
  type Run,
} from "./view";
import { ApiProblem } from "@/api/client";
import { queries } from "@/api/queries";
import { useNamedOwner } from "@/app/ownName";
import { Command, quoted } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { PageFrame } from "@/parts/PageFrame";
import { Parallel } from "@/parts/plots/Parallel";
import { fill, plural, useLanguage } from "@/words/language";

const route = getRouteApi("/experiments");
export const MOST_COMPARED = 20;

/** Jobs as experiments: found by what they were given and what they reported, and compared. */
export function ExperimentsPage() {
  const { language, words } = useLanguage();
  const w = words.experiments;
  const navigate = useNavigate({ from: "/experiments" });
  const change: ChangeView = useCallback(
    (part) => void navigate({ search: (old) => readExperimentsView({ ...old, ...part }), replace: true }),
    [navigate],
  );
  const view = useNamedOwner(route.useSearch(), change);
  const found = useQuery(queries.runs(runQueryOf(view)));
  const runs = found.data?.items ?? [];
  const refusal = refusalOf(view, found.error);
  const use = view.use ?? "last";
  return (
    <PageFrame
      title={w.title}
      tools={
        <>
          <Text size="sm" className="soft" role="status">
            {found.data && plural(language, w.total, runs.length)}
            {found.data?.complete === false && ` ${fill(w.cut, { n: MOST_RUNS })}`}
          </Text>
          <SegmentedControl
            size="xs"
            aria-label={w.show}
            data={[
              { value: "table", label: w.table },
              { value: "parallel", label: w.parallel },
            ]}
            value={view.show ?? "table"}
            onChange={(show) => change({ show: show === "parallel" ? show : undefined })}
          />
        </>
      }
    >
      <RunFilters view={view} change={change} refusal={refusal} />
      <Group gap={8} align="center">
        <SegmentedControl
          size="xs"
          aria-label={w.use}
          data={USES.map((value) => ({ value, label: w.uses[value] }))}
          value={use}
          onChange={(value) => change({ use: value === "last" ? undefined : value })}
        />
        <Command line={commandOf(view, metricsOf(view, runs))} />
      </Group>
      {found.error && !refusal && <ProblemBox error={found.error} onRetry={() => void found.refetch()} />}
      {found.isPending && <Loading />}
      {found.data && runs.length === 0 && (
        <EmptyState title={optionsOf(view) ? w.noMatch : w.none}>
          {optionsOf(view) ? (
            <Button variant="default" renderRoot={(props) => <Link {...props} to="/experiments" search={{}} />}>
              {words.jobs.clear}
            </Button>
          ) : (
            <Text size="sm">{w.how}</Text>
          )}
        </EmptyState>
      )}
      {runs.length > 0 && view.show === "parallel" && <RunLines runs={runs} view={view} change={change} />}
      {runs.length > 0 && view.show !== "parallel" && (
        <RunTable key={namesKey(runs)} runs={runs} view={view} change={change} />
      )}
    </PageFrame>
  );
}

function refusalOf(view: ExperimentsView, error: Error | null) {
  const field = error instanceof ApiProblem ? refusedField(view, error.message) : undefined;
  return field && error instanceof ApiProblem ? { field, text: `${error.message}. ${error.hint}` } : undefined;
}

/** The columns that are shown at first depend on what the runs have. */
const namesKey = (runs: readonly Run[]): string => [...differing(runs), "", ...namesOf(runs, "metrics")].join("\0");

const OPTIONS = { last: " --last", highest: "", lowest: " --min" } as const;

/** The metrics that are drawn: those of the address, or the first one that the runs have. */
const metricsOf = (view: ExperimentsView, runs: readonly Run[]): string[] =>
  view.metric ?? namesOf(runs, "metrics").slice(0, 1);

function commandOf(view: ExperimentsView, drawn: readonly string[]): string {
  if (view.show !== "parallel") return `muster history export runs.csv${optionsOf(view)}`;
  const metrics = (drawn.length > 0 ? drawn : ["METRIC"]).map((name) => ` --metric ${quoted(name)}`).join("");
  return `muster history plot${metrics}${OPTIONS[view.use ?? "last"]}${optionsOf(view)} --picture runs.svg`;
}

const MOST_AXES = 12;

function RunLines({ runs, view, change }: { runs: Run[]; view: ExperimentsView; change: ChangeView }) {
  const { language, words } = useLanguage();
  const w = words.experiments;
  const navigate = useNavigate({ from: "/experiments" });
  const known = useMemo(() => namesOf(runs, "metrics"), [runs]);
  const metrics = useMemo(() => metricsOf(view, runs), [view, runs]);
  const use = view.use ?? "last";
  const drawn = useMemo(
    () => (metrics.length > 0 ? runs.filter((run) => metrics.some((name) => run.metrics[name])) : runs),
    [runs, metrics],
  );
  const columns = useMemo(() => {
    const params = differing(drawn).slice(0, MOST_AXES);
    return [
      ...params.map((name) => ({ name, values: drawn.map((run) => run.params[name]) })),
      ...metrics.map((name) => ({ name, values: drawn.map((run) => metricOf(run, name, use)) })),
    ];
  }, [drawn, metrics, use]);
  return (
    <>
      <MultiSelect
        label={w.axes}
        maw={420}
        data={known}
        value={metrics}
        onChange={(metric) => change({ metric: metric.length > 0 ? metric : undefined })}
        searchable
      />
      {drawn.length < runs.length && (
        <Text size="xs" className="soft">
          {plural(language, w.undrawn, runs.length - drawn.length)}
        </Text>
      )}
      {columns.length === 0 ? (
        <EmptyState title={w.noAxes} />
      ) : (
        <Parallel
          title={w.parallel}
          columns={columns}
          names={drawn.map((run) => run.name)}
          acts={(chosen) => (
            <Button
              size="compact-xs"
              variant="default"
              disabled={chosen.length < 2 || chosen.length > MOST_COMPARED}
              onClick={() =>
                void navigate({ to: "/experiments/compare", search: { job: chosen.map((run) => drawn[run]!.id) } })
              }
            >
              {w.compare}
            </Button>
          )}
        />
      )}
    </>
  );
}
