import type { Schemas } from "@/api/client";
import type { SweepMember } from "@/api/queries";
import type { Sorting } from "@/parts/columns";
import { numberOf, type Value } from "@/parts/plots/scales";

export type Sweep = Schemas["SweepOut"];

/** What the address of the list of sweeps says. */
export interface SweepsView {
  owner?: string;
  open?: boolean;
}

export function readSweepsView(search: Record<string, unknown>): SweepsView {
  const view: SweepsView = {};
  if (typeof search.owner === "string" && search.owner) view.owner = search.owner;
  if (search.open === true) view.open = true;
  return view;
}

/** What the address of one sweep says: the order of its members, and which of them are listed. */
export interface SweepView {
  sort?: string;
  order?: "asc" | "desc";
  state?: string;
}

export function readSweepView(search: Record<string, unknown>): SweepView {
  const view: SweepView = {};
  if (typeof search.sort === "string" && search.sort) view.sort = search.sort;
  if (search.order === "asc" || search.order === "desc") view.order = search.order;
  if (typeof search.state === "string" && search.state) view.state = search.state;
  return view;
}

const ACTIVE = ["Starting", "Running", "Stopping"];
const WAITING = ["Queued", "Held"];

export interface Progress {
  succeeded: number;
  failed: number;
  cancelled: number;
  active: number;
  /** In the queue, and those that are still to be made. */
  waiting: number;
}

export function progressOf(sweep: Sweep): Progress {
  const of = (...states: string[]) => states.reduce((sum, state) => sum + (sweep.counts[state] ?? 0), 0);
  const isMaking = sweep.endedAt === null && sweep.state !== "Stopping";
  return {
    succeeded: of("Succeeded"),
    failed: of("Failed"),
    cancelled: of("Cancelled"),
    active: of(...ACTIVE),
    waiting: of(...WAITING) + (isMaking ? sweep.members - sweep.made : 0),
  };
}

const PARAM = "param.";
export const paramColumn = (name: string): string => PARAM + name;

/** The best first if the sweep has a metric, else in the order of their numbers. */
export function sortingOf(view: SweepView, sweep: Sweep): Sorting {
  if (view.sort) return { by: view.sort, isDescending: view.order === "desc" };
  return sweep.metric ? { by: "value", isDescending: sweep.goal === "max" } : { by: "member", isDescending: false };
}

/** Members in the order of a column. Those without a value come last, whichever way it goes. */
export function sortedMembers(members: readonly SweepMember[], { by, isDescending }: Sorting): SweepMember[] {
  const known = members.filter((member) => valueOf(member, by) !== null);
  const order = known.sort((one, other) => compared(valueOf(one, by), valueOf(other, by)));
  return [...(isDescending ? order.reverse() : order), ...members.filter((member) => valueOf(member, by) === null)];
}

export const paramOf = (member: SweepMember, name: string): Value | null =>
  (member.params[name] as Value | undefined) ?? null;

function valueOf(member: SweepMember, by: string): Value | null {
  if (by.startsWith(PARAM)) return paramOf(member, by.slice(PARAM.length));
  if (by === "value") return member.value ?? null;
  if (by === "step") return member.step ?? null;
  if (by === "state") return member.state;
  if (by === "ended") return member.endedAt && Date.parse(member.endedAt);
  return member.member;
}

function compared(one: Value | null, other: Value | null): number {
  const [a, b] = [numberOf(one), numberOf(other)];
  if (a !== null && b !== null) return a - b;
  return String(one).localeCompare(String(other));
}

/** Members that have a value, the place of the best one, and those that have ended in the order of their ends. */
export function measured(members: readonly SweepMember[], goal: "min" | "max") {
  const found = members.filter((member) => typeof member.value === "number");
  const values = found.map((member) => member.value ?? 0);
  const best = values.reduce(
    (place, value, index) => ((goal === "max" ? value > values[place]! : value < values[place]!) ? index : place),
    0,
  );
  const ended = found
    .filter((member) => member.endedAt !== null)
    .sort((one, other) => Date.parse(one.endedAt ?? "") - Date.parse(other.endedAt ?? ""));
  return { found, values, best: values.length > 0 ? best : -1, ended };
}
