import { Anchor, Button, Group, Select, Stack, Switch, Table, Text, Title } from "@mantine/core";
import { useQueries, useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import classes from "./Compare.module.css";
import { linesOf, titlesOf } from "./comparing";
import { differing, metricOf, namesOf, type Run } from "./view";
import { queries } from "@/api/queries";
import { JobLink } from "@/pages/jobs/columns";
import { StepChart } from "@/parts/charts/StepChart";
import { curvesOverSteps } from "@/parts/charts/steps";
import { Command, quoted } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Parallel } from "@/parts/plots/Parallel";
import { Scrolled } from "@/parts/Scrolled";
import { Section } from "@/parts/Section";
import { StateBadge } from "@/parts/StateBadge";
import { fill, useWords } from "@/words/language";

const route = getRouteApi("/experiments/compare");

/** Several jobs side by side: what differs, the curves of a metric, and all of it as lines over axes. */
export function ComparePage() {
  const words = useWords();
  const w = words.experiments;
  const { job = [] } = route.useSearch();
  const found = useQuery({ ...queries.runs({ job }), enabled: job.length > 0 });
  const runs = found.data?.items ?? [];
  return (
    <Stack gap="sm">
      <Group justify="space-between" gap="xs">
        <Title order={1} size="h3">
          {w.compareTitle}
        </Title>
        <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/experiments" />}>
          {w.back}
        </Anchor>
      </Group>
      {job.length === 0 && <EmptyState title={w.chooseTwo} />}
      {found.error && <ProblemBox error={found.error} onRetry={() => void found.refetch()} />}
      {job.length > 0 && found.isPending && <Loading />}
      {runs.length > 0 && (
        <>
          <Command line={`muster history compare ${runs.map((run) => quoted(run.id)).join(" ")}`} />
          <Differences runs={runs} />
          <Curves runs={runs} />
          <Lines runs={runs} />
        </>
      )}
    </Stack>
  );
}

function Differences({ runs }: { runs: Run[] }) {
  const words = useWords();
  const w = words.experiments;
  const { all = false } = route.useSearch();
  const navigate = useNavigate({ from: "/experiments/compare" });
  const lines = useMemo(() => linesOf(runs, words), [runs, words]);
  const shown = all ? lines : lines.filter((line) => line.isDiffering);
  const leave = (left: Run) =>
    void navigate({
      search: (old) => ({ ...old, job: runs.filter((run) => run !== left).map((run) => run.id) }),
      replace: true,
    });
  return (
    <Section
      title={w.differences}
      aside={
        <Switch
          label={w.sameToo}
          checked={all}
          onChange={(event) => {
            const isOn = event.currentTarget.checked;
            void navigate({
              search: ({ job, metric }) => ({
                ...(job && { job }),
                ...(metric && { metric }),
                ...(isOn && { all: true }),
              }),
              replace: true,
            });
          }}
        />
      }
    >
      <Scrolled label={w.differences}>
        <Table verticalSpacing={3} className={classes.table ?? ""}>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{w.property}</Table.Th>
              {runs.map((run) => (
                <Table.Th key={run.id}>
                  <JobLink job={run} />
                  <div>
                    <StateBadge state={run.state} />
                  </div>
                  {runs.length > 2 && (
                    <Button
                      variant="subtle"
                      size="compact-xs"
                      aria-label={fill(w.leaveOut, { name: run.name })}
                      onClick={() => leave(run)}
                    >
                      {w.leave}
                    </Button>
                  )}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {shown.map((line) => (
              <Table.Tr key={line.name} data-differs={line.isDiffering || undefined}>
                <Table.Th scope="row">{line.name}</Table.Th>
                {line.cells.map((cell, index) => (
                  <Table.Td key={index}>{cell || "–"}</Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Scrolled>
      {shown.length === 0 && (
        <Text size="sm" className="soft">
          {w.noDifference}
        </Text>
      )}
    </Section>
  );
}

function Curves({ runs }: { runs: Run[] }) {
  const words = useWords();
  const w = words.experiments;
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/experiments/compare" });
  const names = useMemo(() => namesOf(runs, "metrics"), [runs]);
  const metric = view.metric && names.includes(view.metric) ? view.metric : names[0];
  const answers = useQueries({
    queries: runs.map((run) => ({ ...queries.jobMetrics(run.id, undefined, metric), enabled: metric !== undefined })),
    combine: (results) => ({
      data: results.map((result) => result.data),
      error: results.find((result) => result.error)?.error,
      isPending: results.some((result) => result.isPending),
    }),
  });
  const { steps, series } = useMemo(() => {
    const titles = titlesOf(runs);
    return curvesOverSteps(
      answers.data.map((data, index) => ({
        label: titles[index] ?? "",
        points: data?.metrics.find((each) => each.name === metric)?.points ?? [],
      })),
    );
  }, [answers.data, runs, metric]);
  if (metric === undefined) return null;
  return (
    <Section
      title={w.curves}
      aside={
        <Select
          aria-label={w.metric}
          w={200}
          searchable
          allowDeselect={false}
          data={names}
          value={metric}
          onChange={(chosen) =>
            void navigate({ search: (old) => ({ ...old, ...(chosen && { metric: chosen }) }), replace: true })
          }
        />
      }
    >
      {answers.error && <ProblemBox error={answers.error} />}
      {answers.isPending ? <Loading /> : <StepChart title={metric} steps={steps} series={series} height={260} />}
      <Command
        line={`muster history curves ${quoted(metric)} ${runs.map((run) => quoted(run.id)).join(" ")} --picture curves.svg`}
      />
    </Section>
  );
}

function Lines({ runs }: { runs: Run[] }) {
  const words = useWords();
  const columns = useMemo(
    () => [
      ...differing(runs).map((name) => ({ name, values: runs.map((run) => run.params[name]) })),
      ...namesOf(runs, "metrics").map((name) => ({ name, values: runs.map((run) => metricOf(run, name, "last")) })),
    ],
    [runs],
  );
  if (columns.length < 2) return null;
  return <Parallel title={words.experiments.parallel} columns={columns} names={titlesOf(runs)} />;
}
