import { useMemo } from "react";

import type { Job } from "@/api/client";
import { bytesText, numberText, timeText } from "@/parts/amounts";
import type { Column } from "@/parts/columns";
import { Reason } from "@/parts/Reason";
import { RunTime, runSeconds } from "@/parts/RunTime";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Elapsed } from "@/parts/Time";
import { reasonText } from "@/words/coded";
import { named, useLanguage } from "@/words/language";

/** A column of jobs, and its value in a CSV file. */
export interface JobColumn extends Column<Job> {
  plain: (job: Job) => string | number | null;
}

export const FIRST_COLUMNS = ["state", "reason", "owner", "vc", "gpus", "waited", "ran", "created"] as const;

/** A plain link: the router's own costs too much where a table has one in each row. */
export function JobLink({ job }: { job: Pick<Job, "id" | "name"> }) {
  return (
    <a className="link" href={`#/jobs/${encodeURIComponent(job.id)}`} title={job.name}>
      {job.name}
    </a>
  );
}

export function useJobColumns(): JobColumn[] {
  const { language, words } = useLanguage();
  return useMemo(() => {
    const text = words.jobs;
    const soft = <span className="soft">–</span>;
    const plainText = (
      id: string,
      label: string,
      width: number,
      value: (job: Job) => string,
      more: Partial<JobColumn> = {},
    ) => ({
      id,
      label,
      width,
      cell: (job: Job) => (value(job) ? <span title={value(job)}>{value(job)}</span> : soft),
      plain: value,
      ...more,
    });
    const time = (id: "created" | "started" | "ended", label: string): JobColumn => ({
      id,
      label,
      width: 112,
      isNumber: true,
      sort: id,
      cell: (job) => <Ago at={job[`${id}At`]} />,
      plain: (job) => job[`${id}At`],
    });
    const number = (id: string, label: string, width: number, value: (job: Job) => number | null): JobColumn => ({
      id,
      label,
      width,
      isNumber: true,
      cell: (job) => numberOf(value(job)),
      plain: value,
    });
    const numberOf = (value: number | null) => (value ? numberText(language, value) : soft);
    const columns: JobColumn[] = [
      {
        ...plainText("name", text.name, 180, (job) => job.name),
        cell: (job) => <JobLink job={job} />,
        sort: "name",
        isFixed: true,
      },
      {
        ...plainText("state", text.state, 124, (job) => named(words.states, job.state)),
        cell: (job) => <StateBadge state={job.state} />,
        sort: "state",
      },
      {
        ...plainText("reason", text.reason, 240, (job) =>
          reasonText(language, { code: job.reasonCode, numbers: job.reasonNumbers, message: job.reason }),
        ),
        cell: (job) => (job.reason ? <Reason job={job} /> : soft),
        isWide: true,
      },
      plainText("owner", text.owner, 92, (job) => job.owner, { sort: "owner" }),
      plainText("vc", text.vc, 130, (job) => job.vc, { sort: "vc" }),
      plainText("cluster", text.cluster, 100, (job) => job.cluster, { sort: "cluster" }),
      { ...number("gpus", text.gpus, 58, (job) => job.resources.gpu), sort: "gpus" },
      plainText("gpuType", text.gpuType, 120, (job) => job.resources.gpuType.join("/")),
      number("workers", text.workers, 84, (job) => job.tasks),
      {
        id: "waited",
        label: text.waited,
        width: 96,
        isNumber: true,
        cell: (job) => <Elapsed from={job.createdAt} to={job.startedAt ?? job.endedAt} />,
        plain: (job) => secondsTo(job.createdAt, job.startedAt ?? job.endedAt),
      },
      {
        id: "ran",
        label: text.ran,
        width: 96,
        isNumber: true,
        cell: (job) => <RunTime job={job} />,
        plain: (job) => rounded(runSeconds(job, Date.now())),
      },
      plainText("priority", text.priority, 84, (job) => named(words.priorities, job.priority), { sort: "priority" }),
      time("created", text.created),
      time("started", text.started),
      time("ended", text.ended),
      number("attempts", text.attempts, 84, (job) => job.attempt),
      plainText("framework", text.framework, 104, (job) => job.framework),
      plainText("mode", text.mode, 120, (job) => named(words.modes, job.mode)),
      plainText("labels", text.labels, 200, (job) => labelsOf(job)),
      {
        ...number("gpuPercent", text.gpuPercent, 92, (job) => job.gpuPercent ?? null),
        cell: (job) => (job.gpuPercent == null ? soft : `${Math.round(job.gpuPercent)} %`),
      },
      {
        ...number("memory", text.peakMemory, 104, (job) => job.peakMemoryBytes ?? null),
        cell: (job) => (job.peakMemoryBytes ? bytesText(job.peakMemoryBytes) : soft),
      },
      plainText("timeLimit", text.timeLimit, 92, (job) => job.timeLimit ?? ""),
      plainText("id", text.id, 150, (job) => job.id),
    ];
    return columns;
  }, [language, words]);
}

const isWaiting = (job: Job): boolean => job.state === "Queued" || job.state === "Held";

const labelsOf = (job: Job): string =>
  Object.entries(job.labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(" ");

const rounded = (seconds: number | null): number | null => (seconds === null ? null : Math.round(seconds));

const secondsTo = (from: string, to: string | null): number =>
  Math.round((Date.parse(to ?? new Date().toISOString()) - Date.parse(from)) / 1000);

/** A job at the width of a phone: name, state, reason and time. */
export function JobCard({ job }: { job: Job }) {
  const { language, words } = useLanguage();
  return (
    <>
      <div style={{ display: "flex", justifyContent: "space-between", gap: 8 }}>
        <span className="one-line">
          <JobLink job={job} />
        </span>
        <StateBadge state={job.state} />
      </div>
      {job.reason && (
        <div className="soft" style={{ fontSize: "var(--mantine-font-size-xs)" }}>
          <Reason job={job} />
        </div>
      )}
      <div
        className="soft"
        style={{ fontSize: "var(--mantine-font-size-xs)" }}
        title={timeText(language, job.createdAt)}
      >
        {job.owner} ·{" "}
        {job.startedAt && !isWaiting(job) ? (
          <>
            {words.jobs.ran} <RunTime job={job} />
          </>
        ) : (
          <>
            {words.jobs.waited} <Elapsed from={job.createdAt} to={job.startedAt ?? job.endedAt} />
          </>
        )}
        {job.resources.gpu > 0 && ` · ${job.resources.gpu} GPU`}
      </div>
    </>
  );
}
