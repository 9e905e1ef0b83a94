import type { Task } from "@/api/client";

/** `worker-0` of the task `mnist-worker-0` of the job mnist. */
export const workerOf = (job: string, task: string): string =>
  task.startsWith(`${job}-`) ? task.slice(job.length + 1) : task;

export const workerName = (task: Pick<Task, "role" | "index">): string => `${task.role}-${task.index}`;

/** `worker-0` of `1m7te2st2w8357pm.1.worker.0`, as tasks of a job that is not there yet are called. */
export const plannedWorker = (id: string): string => id.replace(/^.*\.([^.]+)\.(\d+)$/, "$1-$2");

/** `0–3, 6` of 0, 1, 2, 3 and 6. */
export function rangesText(numbers: number[]): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const n of sorted) {
    const last = ranges.at(-1);
    if (last && n <= last[1] + 1) last[1] = n;
    else ranges.push([n, n]);
  }
  return ranges.map(([from, to]) => (from === to ? String(from) : `${from}–${to}`)).join(", ");
}
