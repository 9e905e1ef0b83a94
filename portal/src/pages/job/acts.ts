import type { Job } from "@/api/client";

export type ActName = "stop" | "hold" | "resume" | "retry" | "clone" | "bump" | "move" | "change" | "whatIf" | "delete";

const WAITING = ["Queued", "Held"];
const ACTIVE = ["Starting", "Running"];
const ENDED = ["Succeeded", "Failed", "Cancelled"];

/** In which states an act makes sense. The server has the last word. */
const STATES: Record<ActName, string[]> = {
  stop: [...WAITING, ...ACTIVE],
  hold: ["Queued", ...ACTIVE],
  resume: ["Held"],
  retry: ENDED,
  clone: [...WAITING, ...ACTIVE, "Stopping", ...ENDED],
  bump: WAITING,
  move: WAITING,
  change: WAITING,
  whatIf: WAITING,
  delete: ENDED,
};

export const hasEnded = (job: Pick<Job, "state">): boolean => ENDED.includes(job.state);
export const isWaiting = (job: Pick<Job, "state">): boolean => WAITING.includes(job.state);

export function actsOf(job: Pick<Job, "state">, mayChange: boolean): ActName[] {
  if (!mayChange) return [];
  return (Object.keys(STATES) as ActName[]).filter((name) => STATES[name].includes(job.state));
}
