import { Alert, Anchor, Stack, Tabs } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useEffect, useRef, type ComponentType } from "react";

import { JOB_TABS, type JobTab } from "./address";
import { JobHead } from "./head/JobHead";
import { Why } from "./head/Why";
import classes from "./JobPage.module.css";
import { useLiveJob } from "./useLiveJob";
import { ApiProblem, type Job } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayRead } from "@/app/session";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { obstacleOf, StaleNotice } from "@/parts/StaleNotice";
import { fill, useLanguage } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

export interface TabProps {
  reference: string;
  job: Job;
}

const CODE: Record<JobTab, () => Promise<{ default: ComponentType<TabProps> }>> = {
  workers: async () => ({ default: (await import("./workers/WorkersTab")).WorkersTab }),
  logs: async () => ({ default: (await import("./logs/LogsTab")).LogsTab }),
  metrics: async () => ({ default: (await import("./metrics/MetricsTab")).MetricsTab }),
  timeline: async () => ({ default: (await import("./timeline/TimelineTab")).TimelineTab }),
  outputs: async () => ({ default: (await import("./outputs/OutputsTab")).OutputsTab }),
  spec: async () => ({ default: (await import("./spec/SpecTab")).SpecTab }),
  environment: async () => ({ default: (await import("./environment/EnvironmentTab")).EnvironmentTab }),
};
const CONTENT: Record<JobTab, ComponentType<TabProps>> = {
  workers: lazy(CODE.workers),
  logs: lazy(CODE.logs),
  metrics: lazy(CODE.metrics),
  timeline: lazy(CODE.timeline),
  outputs: lazy(CODE.outputs),
  spec: lazy(CODE.spec),
  environment: lazy(CODE.environment),
};
const NOT_FOUND = 404;
const FOR_READERS: JobTab[] = ["logs", "metrics", "outputs", "spec", "environment"];

/** One screen that answers "how is it going". */
export function JobPage() {
  const { ref } = route.useParams();
  useEffect(loadTabsWhenIdle, []);
  return <JobOf key={ref} reference={ref} />;
}

function JobOf({ reference }: { reference: string }) {
  const job = useQuery(queries.job(reference));
  useLiveJob(reference, job.data);
  const obstacle = obstacleOf(job);
  if (obstacle) return <MissingJob reference={reference} error={obstacle} onRetry={() => void job.refetch()} />;
  if (!job.data) return <Loading />;
  return (
    <div className={classes.page}>
      <StaleNotice of={["job", reference]} />
      <JobHead reference={reference} job={job.data} />
      <Notes job={job.data} />
      <Why reference={reference} job={job.data} />
      <JobTabs reference={reference} job={job.data} />
    </div>
  );
}

/** Other tabs are opened at once, and also while the server does not answer. */
function loadTabsWhenIdle(): () => void {
  const asked = requestIdleCallback(() => JOB_TABS.forEach((tab) => void CODE[tab]().catch(() => undefined)));
  return () => cancelIdleCallback(asked);
}

function MissingJob({ reference, error, onRetry }: { reference: string; error: Error; onRetry: () => void }) {
  const { words } = useLanguage();
  const isMissing = error instanceof ApiProblem && error.status === NOT_FOUND;
  return (
    <Stack>
      {isMissing ? (
        <div role="alert">
          <EmptyState title={fill(words.job.missing, { ref: reference })} />
        </div>
      ) : (
        <ProblemBox error={error} onRetry={onRetry} />
      )}
      <Anchor renderRoot={(props) => <Link {...props} to="/jobs" />}>{words.job.all}</Anchor>
    </Stack>
  );
}

function Notes({ job }: { job: Job }) {
  const { words } = useLanguage();
  const mayRead = useMayRead(job);
  if (job.origin !== "muster") {
    return <Alert color="gray">{fill(words.job.foreign, { origin: job.origin })}</Alert>;
  }
  if (!mayRead) return <Alert color="gray">{fill(words.job.othersJob, { owner: job.owner })}</Alert>;
  return null;
}

function JobTabs({ reference, job }: TabProps) {
  const { words } = useLanguage();
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const mayRead = useMayRead(job);
  const tab = view.tab ?? "workers";
  const list = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const active = list.current?.querySelector<HTMLElement>("[data-active]");
    if (active) list.current?.scrollTo({ left: active.offsetLeft - active.offsetWidth });
  }, [tab]);
  if (job.origin !== "muster") return <ForeignRoles job={job} />;
  const Content = CONTENT[tab];
  const isRefused = !mayRead && FOR_READERS.includes(tab);
  return (
    <Tabs
      className={classes.fill ?? ""}
      value={tab}
      onChange={(chosen) =>
        void navigate({
          search: (old) => ({
            ...(old.attempt && { attempt: old.attempt }),
            ...(old.worker && { worker: old.worker }),
            tab: chosen as JobTab,
          }),
        })
      }
    >
      <Tabs.List ref={list} className={classes.tabs ?? ""}>
        {JOB_TABS.map((each) => (
          <Tabs.Tab key={each} value={each} py={7} px="sm">
            {words.job.tabs[each]}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      <Tabs.Panel value={tab} pt="xs" className={classes.fill ?? ""}>
        <Suspense fallback={<Loading />}>
          {isRefused ? (
            <EmptyState title={fill(words.job.othersJob, { owner: job.owner })} />
          ) : (
            <Content reference={reference} job={job} />
          )}
        </Suspense>
      </Tabs.Panel>
    </Tabs>
  );
}

/** All that is known of the workers of a job that the engine of its cluster made. */
function ForeignRoles({ job }: { job: Job }) {
  const { words } = useLanguage();
  const roles = job.roles ?? [];
  if (!roles.length) return <EmptyState title={words.job.workers.unknown} />;
  return (
    <ul className={classes.roles}>
      {roles.map((role) => (
        <li key={role.role}>
          <b>{role.role}</b>{" "}
          {fill(words.job.facts.tasksDone, {
            tasks: role.replicas,
            succeeded: role.succeeded,
            active: role.active,
            failed: role.failed,
          })}
        </li>
      ))}
    </ul>
  );
}
