import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useState } from "react";

import type { Job, Schemas } from "@/api/client";
import { useLive, type LiveChanges } from "@/api/live";
import { SELDOM, usePaced } from "@/api/pacing";
import { queries } from "@/api/queries";
import { useMe } from "@/app/session";

const OPEN = ["Queued", "Held", "Starting", "Running", "Stopping"];
const FAILED = ["Failed"];
const ENDED_WELL = ["Succeeded", "Cancelled"];
export const FINAL = [...FAILED, ...ENDED_WELL];
const SHOWN = 100;
const DAY_MS = 86_400_000;

type JobPage = Schemas["JobPage"];

/**
 * The reader's own jobs: those that are open, those that failed last, and those that ended otherwise, so that many that
 * succeeded hide no failure. All follow the live stream, and what they use of the reader's quota is asked for again.
 */
export function useMyJobs() {
  const me = useMe();
  const client = useQueryClient();
  const open = useQuery(queries.jobs({ owner: me.user, state: OPEN, limit: SHOWN }));
  const failed = useQuery(queries.jobs({ owner: me.user, state: FAILED, sort: "ended", limit: SHOWN }));
  const others = useQuery(queries.jobs({ owner: me.user, state: ENDED_WELL, sort: "ended", limit: SHOWN }));
  const askQuotas = useCallback(() => void client.invalidateQueries({ queryKey: ["quotas"] }), [client]);
  const quotasAgain = usePaced(askQuotas, SELDOM);
  const onJobs = useCallback(
    ({ jobs, gone }: LiveChanges["jobs"]) => {
      const mine = jobs.filter((job) => job.owner === me.user && job.origin === "muster");
      if (mine.length === 0 && gone.length === 0) return;
      const put = (state: string[], more: object) =>
        client.setQueryData<JobPage>(
          queries.jobs({ owner: me.user, state, ...more, limit: SHOWN }).queryKey,
          (old) => old && foldOwn(old, mine, gone, (job) => state.includes(job.state)),
        );
      put(OPEN, {});
      put(FAILED, { sort: "ended" });
      put(ENDED_WELL, { sort: "ended" });
      if (mine.length > 0) quotasAgain();
    },
    [client, me.user, quotasAgain],
  );
  useLive("jobs", "jobs", onJobs);
  return { open, failed, others };
}

/** The list with the changed jobs that belong to it first among those that it did not have, and without the others. */
export function foldOwn(
  old: JobPage,
  changed: readonly Job[],
  gone: readonly string[],
  belongs: (job: Job) => boolean,
): JobPage {
  const byId = new Map(changed.map((job) => [job.id, job]));
  const deleted = new Set(gone);
  const kept = old.items.filter((job) => !deleted.has(job.id)).map((job) => take(byId, job));
  const added = [...byId.values()].filter((job) => !deleted.has(job.id));
  return { ...old, items: [...added, ...kept].filter(belongs) };
}

function take(byId: Map<string, Job>, job: Job): Job {
  const next = byId.get(job.id);
  byId.delete(job.id);
  return next && next.version >= job.version ? next : job;
}

/** When the reader last said that all was seen, kept in this browser for each user; a day ago if they never did. */
export function useLastLook(user: string): { since: number; seen: () => void } {
  const stored = `muster-looked-${user}`;
  const [since, setSince] = useState(() => readLook(localStorage.getItem(stored), Date.now()));
  const seen = () => {
    localStorage.setItem(stored, String(Date.now()));
    setSince(Date.now());
  };
  return { since, seen };
}

export function readLook(stored: string | null, now: number): number {
  const found = Number(stored);
  return stored && Number.isFinite(found) && found <= now ? found : now - DAY_MS;
}

/** Those that ended since then, failures first; `more` if there may be others that were not asked for. */
export function endedSince(since: number, failed: JobPage, others: JobPage): { jobs: Job[]; more: boolean } {
  const isRecent = (job: Job) => job.endedAt !== null && Date.parse(job.endedAt) > since;
  const pages = [failed, others];
  return {
    jobs: pages.flatMap((page) => page.items.filter(isRecent)),
    more: pages.some((page) => page.items.length >= SHOWN && page.items.every(isRecent)),
  };
}
