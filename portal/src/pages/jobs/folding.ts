import type { InfiniteData } from "@tanstack/react-query";

import type { Job, Schemas } from "@/api/client";

export type JobPages = InfiniteData<Schemas["JobPage"], string>;

interface Folded {
  pages: JobPages;
  /** Jobs that the list does not have. */
  unlisted: Job[];
}

/**
 * Puts jobs that have changed in the place of what the list has of them. An older version never replaces a newer one:
 * an answer and the stream may cross. `isLeaving` says which of them no longer belong to the list.
 */
export function foldJobs(
  old: JobPages,
  changed: readonly Job[],
  gone: readonly string[],
  isLeaving: (job: Job) => boolean,
): Folded {
  const byId = new Map(changed.map((job) => [job.id, job]));
  const deleted = new Set(gone);
  const found = new Set<string>();
  const pages = old.pages.map((page) => {
    if (!page.items.some((job) => byId.has(job.id) || deleted.has(job.id))) return page;
    const items = page.items.flatMap((job) => {
      if (deleted.has(job.id)) return [];
      const next = byId.get(job.id);
      if (!next) return [job];
      found.add(job.id);
      if (next.version < job.version) return [job];
      return isLeaving(next) ? [] : [next];
    });
    return { ...page, items };
  });
  return { pages: { ...old, pages }, unlisted: changed.filter((job) => !found.has(job.id) && !deleted.has(job.id)) };
}

/** The pages, newest first, with more jobs, each in its place. */
export function insertJobs(old: JobPages, jobs: readonly Job[]): JobPages {
  let left = [...jobs].sort(newestFirst);
  const pages = old.pages.map((page, index) => {
    const oldest = page.items.at(-1)?.createdAt ?? "";
    const isLast = index === old.pages.length - 1;
    const here = isLast ? left : left.filter((job) => job.createdAt >= oldest);
    if (here.length === 0) return page;
    left = left.filter((job) => !here.includes(job));
    return { ...page, items: [...page.items, ...here].sort(newestFirst) };
  });
  return { ...old, pages };
}

const newestFirst = (one: Job, other: Job): number => other.createdAt.localeCompare(one.createdAt);

/** Whether the job stands below what is loaded of the list, newest first. */
export function isFurtherDown(list: JobPages, job: Job): boolean {
  const last = list.pages.at(-1);
  const oldest = last?.items.at(-1);
  return Boolean(last?.nextCursor && oldest && job.createdAt < oldest.createdAt);
}
