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

/** The pages with new jobs, newest first. */
export function prependJobs(old: JobPages, jobs: readonly Job[]): JobPages {
  const [first, ...rest] = old.pages;
  if (!first) return old;
  const newest = [...jobs].sort((one, other) => other.createdAt.localeCompare(one.createdAt));
  return { ...old, pages: [{ ...first, items: [...newest, ...first.items] }, ...rest] };
}
