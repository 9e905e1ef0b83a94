import { useThrottledCallback } from "@mantine/hooks";
import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";

import { foldJobs, prependJobs, type JobPages } from "./folding";
import { belongs, isNewestFirst, jobQueryOf, type JobsView } from "./view";
import type { Job } from "@/api/client";
import { useLive, type LiveChanges } from "@/api/live";
import { queries } from "@/api/queries";

const RELOAD_MS = 2_000;

/**
 * The jobs of a view, page by page, kept up to date by the live stream. Rows change in place. While the reader is at
 * the top, new jobs appear and those that no longer belong to the view leave; else both wait for `showNew`.
 */
export function useJobList(view: JobsView) {
  const client = useQueryClient();
  const asked = useMemo(() => jobQueryOf(view), [view]);
  const options = useMemo(() => queries.jobList(asked), [asked]);
  const list = useInfiniteQuery(options);
  const total = useQuery({ ...queries.jobTotal(asked), enabled: view.origin !== "others" });
  const [waiting, setWaiting] = useState<Waiting>({ view, ids: new Set() });
  const [shownAgain, setShownAgain] = useState(0);
  const isScrolled = useRef(false);
  const key = options.queryKey;

  const countAgain = useThrottledCallback(
    () => void client.invalidateQueries({ queryKey: ["jobs", "total"] }),
    RELOAD_MS,
  );

  /** Asks again for the first page only: what is further down is asked for when the reader comes there. */
  const showNew = useCallback(() => {
    setWaiting({ view, ids: new Set() });
    setShownAgain((count) => count + 1);
    client.setQueryData<JobPages>(
      key,
      (old) => old && { pages: old.pages.slice(0, 1), pageParams: old.pageParams.slice(0, 1) },
    );
    void client.invalidateQueries({ queryKey: key });
    countAgain();
  }, [client, key, view, countAgain]);
  const reload = useThrottledCallback(showNew, RELOAD_MS);

  const onJobs = useCallback(
    (change: LiveChanges["jobs"]) => {
      const old = client.getQueryData<JobPages>(key);
      if (!old) return;
      const isLeaving = (job: Job) => !isScrolled.current && belongs(view, job) === false;
      const { pages, unlisted } = foldJobs(old, change.jobs, change.gone, isLeaving);
      const arriving = unlisted.filter((job) => belongs(view, job) !== false);
      const appearing = arriving.filter((job) => belongs(view, job) && isRecent(job, old));
      const isAtTop = !isScrolled.current;
      client.setQueryData(key, isAtTop && isNewestFirst(view) ? prependJobs(pages, appearing) : pages);
      if (arriving.length > 0 && !isAtTop) setWaiting((old) => withMore(old, view, arriving));
      else if (arriving.length > (isNewestFirst(view) ? appearing.length : 0)) reload();
      if (arriving.length > 0 || change.gone.length > 0) countAgain();
    },
    [client, key, view, reload, countAgain],
  );
  useLive("jobs", "jobs", onJobs);
  const onResync = useCallback(() => (isScrolled.current ? undefined : reload()), [reload]);
  useLive("jobs", "resync", onResync);
  const onChanged = useCallback(
    ({ topics }: LiveChanges["changed"]) => (topics.includes("jobs") ? onResync() : undefined),
    [onResync],
  );
  useLive("jobs", "changed", onChanged);

  const onScrolled = useCallback((scrolled: boolean) => {
    isScrolled.current = scrolled;
  }, []);
  const { hasNextPage, isFetching, fetchNextPage } = list;
  const onNearEnd = useCallback(() => {
    if (hasNextPage && !isFetching) void fetchNextPage();
  }, [hasNextPage, isFetching, fetchNextPage]);
  const jobs = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const known = total.data?.total ?? (list.hasNextPage ? undefined : jobs.length);
  return {
    list,
    jobs,
    total: known,
    beginning: `${JSON.stringify(view)} ${shownAgain}`,
    newCount: waiting.view === view ? waiting.ids.size : 0,
    showNew,
    onScrolled,
    onNearEnd,
  };
}

/** Jobs that have come since the reader scrolled down in this view. */
interface Waiting {
  view: JobsView;
  ids: ReadonlySet<string>;
}

const withMore = (old: Waiting, view: JobsView, jobs: Job[]): Waiting => ({
  view,
  ids: new Set([...(old.view === view ? old.ids : []), ...jobs.map((job) => job.id)]),
});

/** Whether the job is newer than what the list begins with; an older one belongs further down. */
function isRecent(job: Job, list: JobPages): boolean {
  const first = list.pages[0]?.items[0];
  return !first || job.createdAt >= first.createdAt;
}
