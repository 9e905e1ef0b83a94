import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { hasEnded, isWaiting } from "../acts";
import classes from "../JobPage.module.css";
import type { Job } from "@/api/client";
import { bytesText, coresText, numberText } from "@/parts/amounts";
import { RunTime } from "@/parts/RunTime";
import { Ago, Elapsed } from "@/parts/Time";
import { fill, named, useLanguage } from "@/words/language";
import type { Words } from "@/words/shape";

/** The facts of a job. What does not apply to it is left out. */
export function Facts({ job }: { job: Job }) {
  const { language, words } = useLanguage();
  const f = words.job.facts;
  const { resources } = job;
  const facts: [string, ReactNode][] = [
    [f.owner, job.owner],
    [f.cluster, job.cluster],
    [f.vc, job.vc],
    [f.priority, named(words.job.priorities, job.priority)],
    [f.gpus, resources.gpu > 0 && gpusText(job, f.ofModel)],
    [f.cpu, resources.cpu !== "0" && coresText(resources.cpu)],
    [f.memory, resources.memory !== "0" && resources.memory],
    ...Object.entries(resources.devices).map(([name, count]): [string, ReactNode] => [name, count]),
    [f.tasks, tasksText(words, job)],
    [
      f.mode,
      `${named(words.modes, job.mode)}${job.framework && job.framework !== "plain" ? ` · ${job.framework}` : ""}`,
    ],
    [
      f.attempt,
      job.attempt > 1 && fill(f.attemptOf, { n: job.attempt, retries: job.retries, preemptions: job.preemptions }),
    ],
    [
      words.experiments.sweep,
      job.sweep && (
        <Link key="sweep" className="link" to="/sweeps/$ref" params={{ ref: job.sweep }}>
          {fill(words.models.member, { n: job.member ?? 0 })}
        </Link>
      ),
    ],
    [f.submitted, <Ago key="at" at={job.createdAt} />],
    [f.waited, (isWaiting(job) || job.startedAt) && <Elapsed key="w" from={job.createdAt} to={job.startedAt} />],
    [hasEnded(job) ? f.ran : f.runs, job.startedAt && <RunTime key="r" job={job} />],
    [f.ended, job.endedAt && <Ago key="e" at={job.endedAt} />],
    [f.timeLimit, job.timeLimit],
    [f.checkpoint, job.checkpointAt && <Ago key="c" at={job.checkpointAt} />],
    [f.gpuLoad, typeof job.gpuPercent === "number" && fill(f.percent, { n: Math.round(job.gpuPercent) })],
    [f.peakMemory, typeof job.peakMemoryBytes === "number" && bytesText(job.peakMemoryBytes)],
  ];
  const labels = Object.entries(job.labels);
  return (
    <dl className={classes.facts} aria-label={f.label}>
      {facts
        .filter(([, value]) => value !== "" && value !== false && value !== null && value !== undefined)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "number" ? numberText(language, value) : value}</dd>
          </div>
        ))}
      <div className={classes.id}>
        <dt>{f.id}</dt>
        <dd>{job.id}</dd>
      </div>
      {labels.length > 0 && (
        <div className={classes.wide}>
          <dt>{f.labels}</dt>
          <dd>
            {labels.map(([name, value]) => (
              <span key={name} className={classes.label} title={value}>
                {value ? `${name}=${shortened(value)}` : name}
              </span>
            ))}
          </dd>
        </div>
      )}
    </dl>
  );
}

const COMMIT = /^[0-9a-f]{40}$/;
const SHORT_COMMIT = 12;
const shortened = (value: string): string => (COMMIT.test(value) ? value.slice(0, SHORT_COMMIT) : value);

/** How many tasks there are, and how they stand. */
function tasksText(words: Words, job: Job): string {
  const parts = (["active", "succeeded", "failed"] as const)
    .filter((kind) => job[kind] > 0)
    .map((kind) => fill(words.job.facts[kind], { n: job[kind] }));
  return parts.length ? parts.join(" · ") : String(job.tasks);
}

function gpusText({ resources }: Job, ofModel: string): string {
  const models = resources.gpuType.join(" / ");
  return models ? fill(ofModel, { n: resources.gpu, model: models }) : String(resources.gpu);
}
