import { Anchor, Button, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { AlertList } from "./AlertList";
import { ClusterLoad } from "./ClusterLoad";
import classes from "./HomePage.module.css";
import { endedSince, FINAL, useLastLook, useMyJobs } from "./mine";
import { MyQuota } from "./MyQuota";
import type { Job, Schemas } from "@/api/client";
import { SELDOM } from "@/api/pacing";
import { useMe } from "@/app/session";
import { JobLink } from "@/pages/jobs/columns";
import { FirstJob } from "@/pages/jobs/FirstJob";
import { useExpectedStarts } from "@/pages/queue/expected_starts";
import { useLiveQueue } from "@/pages/queue/live_queue";
import { WelcomeHint } from "@/pages/welcome/WelcomeHint";
import { timeText } from "@/parts/amounts";
import { Loading, ProblemBox } from "@/parts/feedback";
import { Reason } from "@/parts/Reason";
import { RunTime } from "@/parts/RunTime";
import { Section } from "@/parts/Section";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Elapsed, Expected } from "@/parts/Time";
import { fill, useLanguage } from "@/words/language";

type JobPage = Schemas["JobPage"];
const SHOWN = 12;
const LIVE = [["schedule", "expected"]];

/** How my jobs are doing, and whether something needs me. */
export function HomePage() {
  const { words } = useLanguage();
  const { open, failed, others } = useMyJobs();
  const error = open.error ?? failed.error ?? others.error;
  const isEmpty = [open, failed, others].every((each) => each.data?.items.length === 0);
  return (
    <>
      <Title order={1} size="h3" mb="xs">
        {words.navigation.home}
      </Title>
      <WelcomeHint />
      {error && <ProblemBox error={error} onRetry={() => void open.refetch()} />}
      <div className={classes.home}>
        <div className={classes.column}>
          {isEmpty ? (
            <Section title={words.home.begin}>
              <FirstJob />
            </Section>
          ) : (
            <>
              <Running jobs={open.data?.items} />
              <Waiting jobs={open.data?.items} />
              <Ended failed={failed.data} others={others.data} />
            </>
          )}
        </div>
        <div className={classes.column}>
          <AlertList />
          <ClusterLoad />
          <MyQuota />
        </div>
      </div>
    </>
  );
}

const isWaiting = (job: Job): boolean => job.state === "Queued" || job.state === "Held";

function Running({ jobs }: { jobs: Job[] | undefined }) {
  const { words } = useLanguage();
  const running = jobs?.filter((job) => !isWaiting(job));
  return (
    <Section
      title={words.home.running}
      aside={<AllLink count={running?.length} state={["Starting", "Running", "Stopping"]} />}
    >
      <JobItems jobs={running} none={words.home.noneRunning}>
        {(job) => (
          <>
            <RunTime job={job} />
            {job.resources.gpu > 0 && ` · ${job.resources.gpu} GPU`}
            {job.gpuPercent != null && ` · ${Math.round(job.gpuPercent)} %`}
          </>
        )}
      </JobItems>
    </Section>
  );
}

function Waiting({ jobs }: { jobs: Job[] | undefined }) {
  const { words } = useLanguage();
  const waiting = jobs?.filter(isWaiting);
  const isQueued = waiting?.some((job) => job.state === "Queued") ?? false;
  const starts = useExpectedStarts(isQueued);
  useLiveQueue(LIVE, SELDOM, isQueued);
  return (
    <Section title={words.home.waiting} aside={<AllLink count={waiting?.length} state={["Queued", "Held"]} />}>
      <JobItems jobs={waiting} none={words.home.noneWaiting}>
        {(job) => {
          const start = starts?.get(job.id);
          if (!start) return <Elapsed from={job.createdAt} to={null} />;
          return (
            <>
              {words.home.starts} <Expected at={start} />
            </>
          );
        }}
      </JobItems>
    </Section>
  );
}

function Ended({ failed, others }: { failed: JobPage | undefined; others: JobPage | undefined }) {
  const { language, words } = useLanguage();
  const me = useMe();
  const { since, seen } = useLastLook(me.user);
  const recent = failed && others && endedSince(since, failed, others);
  return (
    <Section
      title={words.home.ended}
      aside={
        !!recent?.jobs.length && (
          <Button variant="subtle" size="compact-xs" onClick={seen}>
            {words.home.seen}
          </Button>
        )
      }
    >
      <Text size="xs" className="soft">
        {fill(words.home.since, { time: timeText(language, new Date(since)) })}
      </Text>
      <JobItems jobs={recent?.jobs} none={words.home.noneEnded}>
        {(job) => <Ago at={job.endedAt} />}
      </JobItems>
      {recent && recent.jobs.length > SHOWN && (
        <Anchor
          size="xs"
          renderRoot={(props) => (
            <Link {...props} to="/jobs" search={{ owner: me.user, state: FINAL, sort: "ended", members: true }} />
          )}
        >
          {fill(recent.more ? words.home.andManyMore : words.home.andMore, { n: recent.jobs.length - SHOWN })}
        </Anchor>
      )}
    </Section>
  );
}

interface JobItemsProps {
  jobs: Job[] | undefined;
  none: string;
  children: (job: Job) => React.ReactNode;
}

function JobItems({ jobs, none, children }: JobItemsProps) {
  if (!jobs) return <Loading />;
  if (jobs.length === 0) return <Text size="sm" className="soft">{none}</Text>; // prettier-ignore
  return (
    <ul className={classes.list}>
      {jobs.slice(0, SHOWN).map((job) => (
        <li key={job.id} className={classes.item}>
          <span className="one-line">
            <JobLink job={job} />
          </span>
          <span>
            <StateBadge state={job.state} /> <span className="soft">{children(job)}</span>
          </span>
          {job.reason && (
            <span className={classes.wide}>
              <Reason job={job} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}

function AllLink({ count, state }: { count: number | undefined; state: string[] }) {
  const { words } = useLanguage();
  const { user } = useMe();
  if (!count) return null;
  return (
    <Anchor
      size="xs"
      renderRoot={(props) => <Link {...props} to="/jobs" search={{ owner: user, state, members: true }} />}
    >
      {fill(words.home.all, { n: count })}
    </Anchor>
  );
}
