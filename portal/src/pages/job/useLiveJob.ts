import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import type { Job, JobEvent, Schemas, Task } from "@/api/client";
import { useLive, type JobChange } from "@/api/live";
import { queries } from "@/api/queries";

/** Puts what the event stream brings of a job into what is shown of it. */
export function useLiveJob(ref: string, job: Job | undefined): void {
  const client = useQueryClient();
  const id = job?.id ?? "";
  const listener = useCallback(
    (change: JobChange) => {
      if (change.id === id) takeChange(client, ref, change);
    },
    [client, ref, id],
  );
  useLive(id && job?.origin === "muster" ? `job:${id}` : "", "job", listener);
}

function takeChange(client: QueryClient, ref: string, change: JobChange): void {
  const { job } = change;
  if (job === null) {
    void client.invalidateQueries({ queryKey: ["job", ref] }); // it was deleted, which the server says in words
    return;
  }
  const before = client.getQueryData<Job>(queries.job(ref).queryKey);
  client.setQueryData(queries.job(ref).queryKey, job);
  if (before?.attempt === job.attempt) {
    client.setQueryData<Schemas["TaskList"]>(
      queries.tasks(ref).queryKey,
      (old) => old && mergedTasks(old, change.tasks),
    );
    client.setQueryData<Schemas["TaskList"]>(
      queries.tasks(ref, "all").queryKey,
      (old) => old && mergedTasks(old, change.tasks),
    );
  } else {
    void client.invalidateQueries({ queryKey: ["job", ref, "tasks"] });
  }
  client.setQueryData<JobEvent[]>(queries.jobEvents(ref).queryKey, (old) => old && mergedEvents(old, change.events));
  if (before?.state !== job.state || before.reason !== job.reason) {
    for (const part of ["explain", "usage", "outputs"]) {
      void client.invalidateQueries({ queryKey: ["job", ref, part] });
    }
  }
}

export function mergedTasks(old: Schemas["TaskList"], changed: Task[]): Schemas["TaskList"] {
  const byId = new Map(changed.map((task) => [task.id, task]));
  const items = old.items.map((task) => byId.get(task.id) ?? task);
  const known = new Set(old.items.map((task) => task.id));
  return { ...old, items: [...items, ...changed.filter((task) => !known.has(task.id))] };
}

/** Events that came by both ways are there once. */
export function mergedEvents(old: JobEvent[], fresh: JobEvent[]): JobEvent[] {
  const last = old.at(-1)?.seq ?? 0;
  return [...old, ...fresh.filter((event) => event.seq > last)];
}
