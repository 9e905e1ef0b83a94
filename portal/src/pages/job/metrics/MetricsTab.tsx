import { Alert, Select, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useCallback, useMemo, useRef } from "react";

import classes from "./Metrics.module.css";
import { aligned, isOfGpu, linesOf, METRICS, type Metric, type TaskHistory } from "./series";
import { UsageTable } from "./UsageTable";
import { hasEnded } from "../acts";
import { without } from "../address";
import { AttemptSelect, useAttempt } from "../AttemptSelect";
import type { TabProps } from "../JobPage";
import { workerName } from "../naming";
import type { Job } from "@/api/client";
import { useLive, type JobChange } from "@/api/live";
import { queries } from "@/api/queries";
import { bytesText } from "@/parts/amounts";
import { cores, percent, watts, type Format } from "@/parts/charts/labels";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { obstacleOf } from "@/parts/StaleNotice";
import { WithCode } from "@/parts/WithCode";
import { fill, useWords } from "@/words/language";
import type { Words } from "@/words/shape";

const Chart = lazy(async () => ({ default: (await import("@/parts/charts/Chart")).Chart }));
const Reported = lazy(async () => ({ default: (await import("./Reported")).Reported }));
const route = getRouteApi("/jobs/$ref");
const MOST_TASKS = 16;
const REFRESH_MS = 5_000;
const ALL = " "; // no worker has this name

/** What tasks use over time, as curves with a shared cursor, and the totals as a table. */
export function MetricsTab({ reference, job }: TabProps) {
  const words = useWords();
  const w = words.job.metrics;
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const attempt = useAttempt(job);
  const tasks = useQuery(queries.tasks(reference, attempt === job.attempt ? undefined : String(attempt)));
  const names = (tasks.data?.items ?? []).map(workerName);
  const chosen = view.worker && names.includes(view.worker) ? [view.worker] : names.slice(0, MOST_TASKS);
  const history = useQuery({
    ...queries.jobHistory(reference, attempt, chosen),
    enabled: chosen.length > 0,
  });
  const usage = useQuery(queries.jobUsage(reference));
  useFreshHistory(reference, job);
  const obstacle = obstacleOf(tasks) ?? obstacleOf(history);
  const askAgain = () => void Promise.all([tasks.refetch(), chosen.length > 0 && history.refetch()]);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={askAgain} />;
  if (tasks.isPending || (chosen.length > 0 && history.isPending)) return <Loading />;
  const measured = history.data?.tasks ?? [];
  return (
    <Stack gap="xs">
      <Group gap="xs">
        {names.length > 1 && (
          <Select
            aria-label={w.task}
            w={190}
            searchable
            allowDeselect={false}
            data={[{ value: ALL, label: words.job.logs.all }, ...names]}
            value={chosen.length === 1 ? (chosen[0] ?? ALL) : ALL}
            onChange={(worker) =>
              void navigate({
                search: (old) => ({ ...without(old, "worker"), ...(worker && worker !== ALL && { worker }) }),
                replace: true,
              })
            }
          />
        )}
        <AttemptSelect job={job} />
        {chosen.length > 1 && names.length > MOST_TASKS && (
          <Text size="xs" className="soft">
            {fill(w.cut, { n: MOST_TASKS, total: names.length })}
          </Text>
        )}
      </Group>
      {usage.data?.advice && (
        <Alert title={w.advice}>
          <WithCode text={usage.data.advice} />
        </Alert>
      )}
      <Suspense fallback={null}>
        <Reported reference={reference} job={job} attempt={attempt} />
      </Suspense>
      {measured.length === 0 ? (
        <EmptyState title={hasEnded(job) ? w.short : w.noneYet} />
      ) : (
        <div className={classes.charts}>
          {METRICS.map((metric) => (
            <Curves key={metric} metric={metric} tasks={measured} job={job} />
          ))}
        </div>
      )}
      {usage.data && <UsageTable usage={usage.data} attempt={attempt} />}
    </Stack>
  );
}

/** The stream tells every few seconds that a running job has used more; then its curves are asked for again. */
function useFreshHistory(reference: string, job: Job): void {
  const client = useQueryClient();
  const asked = useRef(0);
  const listener = useCallback(
    (change: JobChange) => {
      if (change.id !== job.id || Date.now() - asked.current < REFRESH_MS) return;
      asked.current = Date.now();
      void client.invalidateQueries({ queryKey: ["job", reference, "history"] });
    },
    [client, reference, job.id],
  );
  useLive(`job:${job.id}`, "job", listener);
}

const UNITS: Record<Metric, Format> = {
  cpu: cores,
  memory: bytesText,
  gpu: percent,
  gpuMemory: bytesText,
  power: watts,
};

function Curves({ metric, tasks, job }: { metric: Metric; tasks: TaskHistory[]; job: Job }) {
  const words = useWords();
  const { times, series } = useMemo(() => aligned(linesOf(tasks, metric)), [tasks, metric]);
  const name = metric === "cpu" ? `${words.job.metrics.cpu} (${words.job.metrics.cores})` : words.job.metrics[metric];
  if (!series.length) {
    return (
      <section className={classes.card} aria-label={name}>
        <Title order={2} size="xs">
          {name}
        </Title>
        <p className={classes.empty}>{emptyText(words, metric, job)}</p>
      </section>
    );
  }
  return (
    <Suspense fallback={<Loading />}>
      <Chart
        title={name}
        times={times}
        series={series}
        format={UNITS[metric]}
        isBytes={metric === "memory" || metric === "gpuMemory"}
        sync="job"
        {...(metric === "gpu" && { most: 100 })}
      />
    </Suspense>
  );
}

const emptyText = (words: Words, metric: Metric, job: Job): string =>
  isOfGpu(metric) && job.resources.gpu === 0 ? words.job.metrics.noGpu : words.job.metrics.notMeasured;
