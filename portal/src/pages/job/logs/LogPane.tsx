import { Group, Text } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore, type ReactNode } from "react";

import { hasEnded } from "../acts";
import { without, type JobView } from "../address";
import classes from "./Log.module.css";
import { LogSearch, type FoundLine } from "./LogSearch";
import { LogSession } from "./LogSession";
import { LogTools } from "./LogTools";
import { LogViewer } from "./LogViewer";
import { isPassing, type Job } from "@/api/client";
import { bytesText } from "@/parts/amounts";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { fill, plural, useLanguage } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

export interface LogPaneProps {
  job: Job;
  reference: string;
  attempt: number;
  workers: string[];
  isAll: boolean;
  choice: ReactNode;
}

/** A line to which the viewer goes. Going to it again is another target. */
export interface Target {
  worker: string;
  n: number;
}

export function LogPane({ job, reference, attempt, workers, isAll, choice }: LogPaneProps) {
  const { words } = useLanguage();
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const session = useLogSession(reference, job, attempt, workers);
  const addressed = addressedLine(view, workers);
  const [target, setTarget] = useState<Target | null>(addressed);
  const [isFollowing, setFollowing] = useState(!target);

  const goTo = useCallback(
    ({ worker, n }: FoundLine) => {
      setFollowing(false);
      setTarget({ worker, n });
      const isHere = session.indexOf(worker, n) >= 0;
      void navigate({
        search: (old) => ({ ...without(old, "of"), line: n, ...(isAll && isHere ? { of: worker } : { worker }) }),
        replace: true,
      });
    },
    [isAll, navigate, session],
  );
  const onFollow = useCallback(
    (follow: boolean) => {
      setFollowing(follow);
      if (!follow) return;
      setTarget(null);
      void navigate({ search: (old) => without(old, "line", "of"), replace: true });
    },
    [navigate],
  );

  return (
    <div className={classes.pane}>
      <Group gap={6} className={classes.tools ?? ""}>
        {choice}
        <LogSearch
          reference={reference}
          attempt={attempt}
          shown={workers}
          isReady={session.isOpened}
          current={addressed}
          onGoTo={goTo}
        />
        <LogTools
          reference={reference}
          job={job}
          attempt={attempt}
          workers={workers}
          worker={isAll ? null : (workers[0] ?? null)}
          isFollowing={isFollowing}
          isOver={hasEnded(job) || (session.isOpened && session.isComplete)}
          onFollow={onFollow}
          onGoTo={goTo}
        />
      </Group>
      <Body session={session} job={job} isAll={isAll}>
        <LogViewer
          session={session}
          reference={reference}
          label={isAll ? words.job.logs.allLabel : fill(words.job.logs.label, { worker: workers[0] ?? "" })}
          target={target}
          searched={view.q ?? ""}
          isWrapped={view.wrap ?? false}
          hasTimes={view.times ?? false}
          isFollowing={isFollowing}
          onFollow={onFollow}
          onLine={goTo}
        />
      </Body>
      <Command
        line={`muster logs ${hasEnded(job) ? "" : "-f "}${job.id}${isAll || workers.length > 1 ? "" : ` -w ${workers[0] ?? ""}`}${attempt === job.attempt ? "" : ` --attempt ${attempt}`}`}
      />
    </div>
  );
}

/** The line that the address names. One without a worker is of the first, as in addresses that people kept. */
function addressedLine({ line, worker, of }: JobView, workers: string[]): Target | null {
  const owner = worker ?? of ?? workers[0];
  return line && owner ? { worker: owner, n: line } : null;
}

function useLogSession(ref: string, { id, name }: Job, attempt: number, workers: string[]): LogSession {
  const names = workers.join("\n");
  const session = useMemo(
    () => new LogSession({ ref, id, job: name, attempt, workers: names.split("\n") }),
    [ref, id, name, attempt, names],
  );
  useEffect(() => session.start(), [session]);
  useSyncExternalStore(session.subscribe, session.current);
  return session;
}

interface BodyProps {
  session: LogSession;
  job: Job;
  isAll: boolean;
  children: ReactNode;
}

function Body({ session, job, isAll, children }: BodyProps) {
  const { language, words } = useLanguage();
  const w = words.job.logs;
  if (!session.isOpened) return <Loading />;
  const problem = session.error ? <ProblemBox error={session.error} onRetry={() => void session.retry()} /> : null;
  if (problem && session.count === 0) return problem;
  if (session.count === 0) return <EmptyState title={hasEnded(job) ? w.emptyEnded : w.empty} />;
  const dropped = session.logs.reduce((sum, log) => sum + log.droppedBytes, 0);
  const total = session.logs.reduce((sum, log) => sum + log.total, 0);
  const size = session.logs.reduce((sum, log) => sum + log.sizeBytes, 0);
  return (
    <>
      {!isPassing(session.error) && problem}
      {children}
      {isPassing(session.error) && (
        <Text size="xs" role="status">
          {w.notCurrent}
        </Text>
      )}
      <Text size="xs" className="soft">
        {plural(language, w.lines, total)} · {bytesText(size)}
        {dropped > 0 && ` · ${fill(w.dropped, { size: bytesText(dropped) })}`}
        {isAll && session.merged?.isFull && ` · ${w.full}`}
      </Text>
    </>
  );
}
