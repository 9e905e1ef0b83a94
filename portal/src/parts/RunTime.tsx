import { durationText } from "./amounts";
import { useNow } from "./Time";
import type { Job } from "@/api/client";
import { useWords } from "@/words/language";

type Ran = Pick<Job, "startedAt" | "runTimeS" | "runningSince">;

/** How long a job has run in all its attempts, without the time that it waited between them; null if it never ran. */
export function runSeconds({ startedAt, runTimeS, runningSince }: Ran, now: number): number | null {
  if (!startedAt) return null;
  return runTimeS + (runningSince ? Math.max(0, (now - Date.parse(runningSince)) / 1000) : 0);
}

/** The run time of a job, which grows while it runs. */
export function RunTime({ job }: { job: Ran }) {
  const words = useWords();
  const seconds = runSeconds(job, useNow());
  if (seconds === null) return <span className="soft">–</span>;
  return <span>{durationText(words, seconds)}</span>;
}
