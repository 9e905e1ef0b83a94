import type { Job } from "@/api/client";
import { jobActs } from "@/api/queries";
import { quoted } from "@/parts/Command";

export type Act = keyof typeof jobActs;
export const ACTS: readonly Act[] = ["kill", "hold", "resume", "retry"];

/** The states in which the server takes the act. It decides; this only hides what it would refuse. */
const STATES: Record<Act, readonly string[]> = {
  kill: ["Queued", "Held", "Starting", "Running", "Stopping"],
  hold: ["Queued", "Starting", "Running"],
  resume: ["Held"],
  retry: ["Succeeded", "Failed", "Cancelled"],
};

export const fits = (act: Act, job: Job): boolean => STATES[act].includes(job.state);

const JOBS_OF_LINE = 8;

/** The commands that do the same. Ids are exact where several jobs have one name. */
export function commandsOf(act: string, ids: readonly string[], options = ""): string[] {
  const lines: string[] = [];
  for (let at = 0; at < ids.length; at += JOBS_OF_LINE) {
    lines.push(
      `muster ${act} ${ids
        .slice(at, at + JOBS_OF_LINE)
        .map(quoted)
        .join(" ")}${options}`,
    );
  }
  return lines;
}

export interface Refusal {
  job: Job;
  error: unknown;
}

const AT_ONCE = 6;

/** Does it for each job, a few at a time, and answers those that were refused. */
export async function doAll(jobs: readonly Job[], act: (id: string) => Promise<unknown>): Promise<Refusal[]> {
  const left = [...jobs];
  const refused: Refusal[] = [];
  const work = async () => {
    for (let job = left.shift(); job; job = left.shift()) {
      try {
        await act(job.id);
      } catch (error) {
        refused.push({ job, error });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return refused;
}
