import { Group, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";

import classes from "./Metrics.module.css";
import { hasEnded } from "../acts";
import type { Job, Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { StepChart } from "@/parts/charts/StepChart";
import { curvesOverSteps } from "@/parts/charts/steps";
import { Command, quoted } from "@/parts/Command";
import { valueText } from "@/parts/plots/scales";
import { fill, useWords } from "@/words/language";

interface ReportedProps {
  reference: string;
  job: Job;
  attempt: number;
}

const REFRESH_MS = 5_000;
const MOST_CURVES = 24;

/** What the program itself reports, such as its loss: a curve for each metric. Nothing if it reports nothing. */
export function Reported({ reference, job, attempt }: ReportedProps) {
  const words = useWords();
  const w = words.experiments;
  const client = useQueryClient();
  const isOver = hasEnded(job);
  const options = queries.jobMetrics(reference, attempt || undefined);
  const found = useQuery({ ...options, refetchInterval: isOver ? false : REFRESH_MS });
  useEffect(() => {
    // what was reported last comes with the end of the job
    if (isOver) void client.invalidateQueries({ queryKey: ["job", reference, "metrics"] });
  }, [client, reference, isOver]);
  const metrics = found.data?.metrics ?? [];
  if (metrics.length === 0) return null;
  return (
    <section aria-label={w.reported}>
      <Group justify="space-between" gap="xs" mb={4}>
        <Title order={2} size="h5">
          {w.reported}
        </Title>
        <Link className="link" to="/experiments/compare" search={{ job: [job.id] }}>
          {w.compareThis}
        </Link>
      </Group>
      <div className={classes.charts}>
        {metrics.slice(0, MOST_CURVES).map((metric) => (
          <Curve key={metric.name} metric={metric} />
        ))}
      </div>
      {metrics.length > MOST_CURVES && (
        <p className="soft">{fill(w.moreMetrics, { n: MOST_CURVES, total: metrics.length })}</p>
      )}
      <Command
        line={`muster history curves ${quoted(metrics[0]?.name ?? "")} ${quoted(job.id)} --picture curves.svg`}
      />
    </section>
  );
}

function Curve({ metric }: { metric: Schemas["MetricOut"] }) {
  const { steps, series } = useMemo(
    () => curvesOverSteps([{ label: metric.name, points: metric.points }]),
    [metric.name, metric.points],
  );
  return (
    <StepChart title={`${metric.name}: ${valueText(metric.last.value)}`} steps={steps} series={series} height={160} />
  );
}
