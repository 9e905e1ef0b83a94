import { belongs, type JobsView } from "./view";
import type { Job } from "@/api/client";
import type { JobsChange } from "@/api/live";
import type { JobCount } from "@/api/queries";

/**
 * The number of jobs of a view after some have changed, without asking the server again. What is not certain, such as
 * whether a job further down than the list is loaded was among them, stays as the server has counted it. `listed` is
 * what the list had of a job before; `isWhole` says whether it has all jobs of the view.
 */
export function recounted(
  old: JobCount,
  view: JobsView,
  { jobs, gone }: JobsChange,
  listed: (id: string) => Job | undefined,
  isWhole: boolean,
): JobCount {
  if (old.total === null) return old;
  const counted = new Map(old.counted);
  let total = old.total;
  const wasCounted = (id: string, job: Job | undefined): boolean | null => {
    const known = counted.get(id);
    if (known !== undefined) return known;
    const before = listed(id);
    if (before) return belongs(view, before);
    if (isWhole) return false;
    const isNew = job !== undefined && job.createdAt > old.newest && (old.newest !== "" || !view.since);
    return isNew ? false : null;
  };
  for (const job of jobs) {
    const is = belongs(view, job);
    const was = wasCounted(job.id, job);
    if (is === null) continue;
    if (was !== null) total += Number(is) - Number(was);
    counted.set(job.id, is);
  }
  for (const id of gone) {
    if (wasCounted(id, undefined)) total -= 1;
    counted.set(id, false);
  }
  return { ...old, total: Math.max(0, total), counted };
}
