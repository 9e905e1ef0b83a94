import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";

import type { Job, Schemas } from "@/api/client";
import { useLive, type LiveChanges } from "@/api/live";
import { queries } from "@/api/queries";
import { useMe } from "@/app/session";

const OPEN = ["Queued", "Held", "Starting", "Running", "Stopping"];
const FINAL = ["Succeeded", "Failed", "Cancelled"];
const SHOWN = 100;
const DAY_MS = 86_400_000;

type JobPage = Schemas["JobPage"];

/** The reader's own jobs: those that are open, and those that ended last. Both follow the live stream. */
export function useMyJobs() {
  const me = useMe();
  const client = useQueryClient();
  const open = useQuery(queries.jobs({ owner: me.user, state: OPEN, limit: SHOWN }));
  const ended = useQuery(queries.jobs({ owner: me.user, state: FINAL, sort: "ended", limit: SHOWN }));
  const onJobs = useCallback(
    ({ jobs, gone }: LiveChanges["jobs"]) => {
      const mine = jobs.filter((job) => job.owner === me.user && job.origin === "muster");
      if (mine.length === 0 && gone.length === 0) return;
      const isOpen = (job: Job) => OPEN.includes(job.state);
      const put = (state: string[], more: object, belongs: (job: Job) => boolean) =>
        client.setQueryData<JobPage>(
          queries.jobs({ owner: me.user, state, ...more, limit: SHOWN }).queryKey,
          (old) => old && foldOwn(old, mine, gone, belongs),
        );
      put(OPEN, {}, isOpen);
      put(FINAL, { sort: "ended" }, (job) => !isOpen(job));
    },
    [client, me.user],
  );
  useLive("jobs", "jobs", onJobs);
  return { open, ended };
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

/** When the reader last looked, kept in this browser for each user; a day ago if they never did. */
export function useLastLook(user: string): { since: number; seen: () => void } {
  const stored = `muster-looked-${user}`;
  const [since, setSince] = useState(() => readLook(localStorage.getItem(stored), Date.now()));
  useEffect(() => {
    const keep = () => localStorage.setItem(stored, String(Date.now()));
    const onHidden = () => {
      if (document.hidden) keep();
    };
    document.addEventListener("visibilitychange", onHidden);
    return () => {
      document.removeEventListener("visibilitychange", onHidden);
      keep();
    };
  }, [stored]);
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
