import { useInfiniteQuery, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";

import { recounted } from "./counting";
import { foldJobs, insertJobs, isFurtherDown, type JobPages } from "./folding";
import { belongs, isNewestFirst, jobQueryOf, type JobsView } from "./view";
import type { Job } from "@/api/client";
import { useLive, type LiveChanges } from "@/api/live";
import { SOON, useHint, usePaced, type Pace } from "@/api/pacing";
import { queries, type JobCount } from "@/api/queries";

/** How soon the server counts the jobs again after this page has counted changes itself. */
const COUNT_AGAIN: Pace = { afterMs: 30_000, spreadMs: 30_000 };

/**
 * The jobs of a view, page by page, kept up to date by the live stream. Rows change in place. While the reader is at
 * the top, new jobs appear and those that no longer belong to the view leave; else both wait for `showNew`. Five
 * hundred open lists ask for nothing while jobs come and go in the order that lists begin with; in other orders, and
 * where only the server can tell what belongs to the view, they ask again at moments of their own.
 */
export function useJobList(view: JobsView) {
  const client = useQueryClient();
  const asked = useMemo(() => jobQueryOf(view), [view]);
  const options = useMemo(() => queries.jobList(asked), [asked]);
  const list = useInfiniteQuery(options);
  const counting = useMemo(() => queries.jobTotal(asked), [asked]);
  const total = useQuery({ ...counting, enabled: view.origin !== "others" });
  const [waiting, setWaiting] = useState<Waiting>({ view, ids: new Set() });
  const [shownAgain, setShownAgain] = useState(0);
  const isScrolled = useRef(false);
  /** Whether the list has to be asked for again when the reader comes back to the top. */
  const isBehind = useRef(false);
  const key = options.queryKey;
  const countKey = counting.queryKey;

  const count = useCallback(() => void client.invalidateQueries({ queryKey: ["jobs", "total"] }), [client]);
  const countAgain = usePaced(count, COUNT_AGAIN);

  /** Asks again for the first page only: what is further down is asked for when the reader comes there. */
  const showNew = useCallback(() => {
    setWaiting({ view, ids: new Set() });
    setShownAgain((count) => count + 1);
    client.setQueryData<JobPages>(
      key,
      (old) => old && { pages: old.pages.slice(0, 1), pageParams: old.pageParams.slice(0, 1) },
    );
    void client.invalidateQueries({ queryKey: key });
    count();
  }, [client, key, view, count]);
  const showNewAtTop = useCallback(() => {
    isBehind.current = isScrolled.current;
    if (!isBehind.current) showNew();
  }, [showNew]);
  const reload = usePaced(showNewAtTop, SOON);
  const hasWaiting = waiting.view === view && waiting.ids.size > 0;

  const onJobs = useCallback(
    (change: LiveChanges["jobs"]) => {
      const old = client.getQueryData<JobPages>(key);
      if (!old) return;
      const isAtTop = !isScrolled.current;
      const isWhole = !hasWaiting && !view.since && !old.pages.at(-1)?.nextCursor;
      const listed = new Map(old.pages.flatMap((page) => page.items).map((job) => [job.id, job]));
      client.setQueryData<JobCount>(
        countKey,
        (old) => old && recounted(old, view, change, (id) => listed.get(id), isWhole),
      );
      const isLeaving = (job: Job) => isAtTop && belongs(view, job) === false;
      const { pages, unlisted } = foldJobs(old, change.jobs, change.gone, isLeaving);
      const isLocal = isNewestFirst(view);
      const arriving = unlisted.filter((job) => belongs(view, job) !== false && !(isLocal && isFurtherDown(old, job)));
      const appearing = isLocal ? arriving.filter((job) => belongs(view, job) && isSure(view, job, old)) : [];
      client.setQueryData(key, isAtTop ? insertJobs(pages, appearing) : pages);
      if (!isAtTop && arriving.length > 0) setWaiting((old) => withMore(old, view, arriving));
      else if (arriving.length > appearing.length) reload();
      if (change.jobs.some((job) => belongs(view, job) !== false || listed.has(job.id)) || change.gone.length > 0)
        countAgain();
    },
    [client, key, countKey, view, hasWaiting, reload, countAgain],
  );
  useLive("jobs", "jobs", onJobs);
  useLive("jobs", "resync", reload);
  useHint("jobs", showNewAtTop, SOON);

  const onScrolled = useCallback(
    (scrolled: boolean) => {
      isScrolled.current = scrolled;
      if (!scrolled && isBehind.current) reload();
    },
    [reload],
  );
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

/** Whether the job can be put into the list as it is: of an older one, only the server knows whether it is too old. */
function isSure(view: JobsView, job: Job, list: JobPages): boolean {
  const first = list.pages[0]?.items[0];
  return !view.since || (first !== undefined && job.createdAt >= first.createdAt);
}
