import type { JobEvent, Task } from "@/api/client";

/** A stretch of time in which a worker had one state. Positions are parts of the whole, from 0 to 1. */
export interface Stretch {
  state: string;
  from: number;
  to: number;
  left: number;
  width: number;
}
export interface Lane {
  /** `worker-0`, or empty for the lane of the job itself. */
  name: string;
  attempt: number;
  stretches: Stretch[];
}
export interface Picture {
  from: number;
  to: number;
  lanes: Lane[];
  /** How many workers there are, also if not all are drawn. */
  total: number;
}

export const MOST_LANES = 200;
const FINAL_TASK_STATES = ["Succeeded", "Failed", "Stopped", "Lost"];

interface Change {
  at: number;
  state: string;
}

/**
 * The states of the job and of its workers as lanes over time, from its submission to its end or to now. Attempts
 * follow one another in time, so they share the picture; each worker of each attempt has its lane.
 */
export function layOut(
  createdAt: string,
  endedAt: string | null,
  tasks: Task[],
  events: JobEvent[],
  now: number,
): Picture {
  const from = Date.parse(createdAt);
  const ends = [endedAt ? Date.parse(endedAt) : now, ...tasks.map((task) => timeOf(task.endedAt) ?? from)];
  const to = Math.max(from + 1, ...ends);
  const changes = changesByName(events);
  const place = (stretch: { state: string; from: number; to: number }): Stretch => {
    const [left, right] = [within(stretch.from, from, to), within(stretch.to, from, to)];
    return { ...stretch, left: (left - from) / (to - from), width: Math.max(0, right - left) / (to - from) };
  };
  const job = stretchesOf(changes.get("") ?? [], from, endedAt ? to : now);
  const sorted = [...tasks].sort((a, b) => a.attempt - b.attempt || a.rank - b.rank || a.name.localeCompare(b.name));
  const lanes = sorted.slice(0, MOST_LANES).map((task): Lane => ({
    name: `${task.role}-${task.index}`,
    attempt: task.attempt,
    stretches: taskStretches(task, changes.get(`${task.attempt} ${task.name}`) ?? [], to).map(place),
  }));
  return { from, to, lanes: [{ name: "", attempt: 0, stretches: job.map(place) }, ...lanes], total: tasks.length };
}

/** The changes of state by `attempt name` of tasks, and by the empty name of the job. */
function changesByName(events: JobEvent[]): Map<string, Change[]> {
  const found = new Map<string, Change[]>();
  for (const event of events) {
    const [subject] = event.kind.split(".");
    const { state, name, attempt } = event.data as { state?: unknown; name?: unknown; attempt?: unknown };
    if (typeof state !== "string" || (subject !== "job" && subject !== "task")) continue;
    const key = subject === "job" ? "" : `${Number(attempt)} ${String(name)}`;
    const changes = found.get(key) ?? [];
    changes.push({ at: Date.parse(event.at), state });
    found.set(key, changes);
  }
  return found;
}

function stretchesOf(changes: Change[], from: number, to: number): { state: string; from: number; to: number }[] {
  const out: { state: string; from: number; to: number }[] = [];
  changes.forEach(({ at, state }, index) => {
    const start = index === 0 ? Math.min(at, Math.max(from, 0)) : at;
    const end = changes[index + 1]?.at ?? to;
    const last = out.at(-1);
    if (last?.state === state) last.to = Math.max(last.to, end);
    else if (end > start) out.push({ state, from: start, to: end });
  });
  return out;
}

/** What events say of a task; without them, what the task itself says: when it started and ended. */
function taskStretches(task: Task, changes: Change[], to: number): { state: string; from: number; to: number }[] {
  const started = timeOf(task.startedAt);
  const ended = timeOf(task.endedAt) ?? to;
  const live = changes.filter(({ state }) => !FINAL_TASK_STATES.includes(state));
  const isFinal = FINAL_TASK_STATES.includes(task.state);
  if (!live.length) {
    return started === null ? [] : [{ state: task.state, from: started, to: Math.max(ended, started) }];
  }
  const out = stretchesOf(live, live[0]!.at, ended);
  const last = out.at(-1);
  if (isFinal && last) last.state = task.state; // the last stretch says how it ended
  return out;
}

const timeOf = (at: string | null): number | null => (at ? Date.parse(at) : null);
const within = (at: number, from: number, to: number): number => Math.min(Math.max(at, from), to);

/** Round times for the marks of an axis, about `count` of them. */
export function marksOf(from: number, to: number, count: number): number[] {
  const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
  const wanted = (to - from) / 1000 / count;
  const step = (steps.find((each) => each >= wanted) ?? Math.ceil(wanted / 86_400) * 86_400) * 1000;
  const marks: number[] = [];
  for (let at = Math.ceil(from / step) * step; at <= to && marks.length < 100; at += step) marks.push(at);
  return marks;
}
