import type { Schemas } from "@/api/client";

export type Schedule = Schemas["ScheduleOut"];
export type Lane = Schemas["LaneOut"];
export type Span = Schemas["SpanOut"];

export const WINDOWS = ["10m", "1h", "6h", "1d", "7d"] as const;
export type Window = (typeof WINDOWS)[number];

/** How far the chart looks into the future. */
export const AHEADS = ["none", "1h", "6h", "1d"] as const;
export type Ahead = (typeof AHEADS)[number];
const HOUR_MS = 3_600_000;
export const AHEAD_MS: Record<Ahead, number> = { none: 0, "1h": HOUR_MS, "6h": 6 * HOUR_MS, "1d": 24 * HOUR_MS };

export interface ScheduleView {
  since?: Window;
  ahead?: Ahead;
  cluster?: string;
}

export function readScheduleView(search: Record<string, unknown>): ScheduleView {
  const view: ScheduleView = {};
  const since = WINDOWS.find((each) => each === search.since);
  if (since) view.since = since;
  const ahead = AHEADS.find((each) => each === search.ahead);
  if (ahead) view.ahead = ahead;
  if (typeof search.cluster === "string" && search.cluster) view.cluster = search.cluster;
  return view;
}

/** What is shown, as times in milliseconds: the past up to now, and the future up to the end. */
export interface Shown {
  since: number;
  now: number;
  end: number;
}

export function shownOf({ since, until }: Schedule, ahead: Ahead): Shown {
  const now = Date.parse(until);
  return { since: Date.parse(since), now, end: now + AHEAD_MS[ahead] };
}

export interface Place {
  /** Percent of what is shown. */
  left: number;
  width: number;
}

const THINNEST = 0.15;

export function placeOf(from: number, to: number, { since, end }: Shown): Place {
  const length = Math.max(1, end - since);
  const [first, last] = [Math.max(since, from), Math.min(end, to)];
  return { left: (100 * (first - since)) / length, width: Math.max(THINNEST, (100 * (last - first)) / length) };
}

/** Where a span lies. What still runs ends now. */
export const placeOfSpan = (span: Span, shown: Shown): Place =>
  placeOf(Date.parse(span.from), Math.min(shown.now, span.to ? Date.parse(span.to) : shown.now), shown);

/** What a waiting job is going to have of a node. */
export interface Coming {
  kind: "reserved" | "expected";
  job: string | null;
  name: string;
  owner: string | null;
  /** In milliseconds; without an end if nothing is known about how long the job runs. */
  from: number;
  to: number;
}

/** What is going to be on a node: of spans that overlap, each is in a lane of its own. */
export interface ComingLane {
  cluster: string;
  node: string;
  coming: Coming[];
}

/** The API knows the nodes of what comes, but not the GPUs. */
export function comingLanes(schedule: Schedule, shown: Shown): ComingLane[] {
  const lanes: ComingLane[] = [];
  for (const { cluster, node, coming } of comingOn(schedule, shown)) {
    const here = lanes.filter((lane) => lane.cluster === cluster && lane.node === node);
    const free = here.find((lane) => (lane.coming.at(-1)?.to ?? 0) <= coming.from);
    if (free) free.coming.push(coming);
    else lanes.push({ cluster, node, coming: [coming] });
  }
  return lanes;
}

/** A job for which nodes are reserved is expected, too: it is there once, with the end that is expected. */
function comingOn(schedule: Schedule, { now, end }: Shown): { cluster: string; node: string; coming: Coming }[] {
  const reserved = new Set(schedule.reserved.flatMap(({ job }) => job ?? []));
  const expected = new Set(schedule.expected.flatMap(({ job }) => job ?? []));
  const alone = schedule.reserved.filter(({ job }) => job === null || !expected.has(job));
  const jobs = [
    ...alone.map((each) => ({ ...each, to: null, kind: "reserved" as const })),
    ...schedule.expected.map((each) => ({
      ...each,
      kind: each.job !== null && reserved.has(each.job) ? ("reserved" as const) : ("expected" as const),
    })),
  ];
  return jobs
    .flatMap(({ kind, job, name, owner, cluster, nodes, ...times }) => {
      const from = Math.max(now, times.from ? Date.parse(times.from) : now);
      const to = times.to ? Math.max(from, Date.parse(times.to)) : Infinity;
      return nodes.map((node) => ({ cluster, node, coming: { kind, job, name, owner, from, to } }));
    })
    .filter(({ coming }) => coming.from < end)
    .sort((a, b) => a.coming.from - b.coming.from);
}

export interface Tick {
  left: number;
  at: Date;
}

const STEPS_S = [60, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400];
const MOST_TICKS = 8;

/** Round times within the window, at most eight. */
export function ticksOf(since: number, until: number): Tick[] {
  const length = until - since;
  const step = (STEPS_S.find((each) => length / (each * 1000) <= MOST_TICKS) ?? 86_400) * 1000;
  const ticks: Tick[] = [];
  for (let at = Math.ceil(since / step) * step; at < until; at += step) {
    ticks.push({ left: (100 * (at - since)) / length, at: new Date(at) });
  }
  return ticks;
}

/** Those whose spans may be seen, by name. */
export const ownersOf = (lanes: readonly Lane[]): string[] =>
  [...new Set(lanes.flatMap(({ spans }) => spans.flatMap(({ owner }) => owner ?? [])))].sort();

/** GPUs of a node follow each other, and then what comes; nodes in order of their names. */
export function inOrder<L extends Lane | ComingLane>(lanes: readonly L[]): L[] {
  const names = new Intl.Collator(undefined, { numeric: true });
  const key = (lane: L) => `${lane.cluster}/${lane.node}`;
  const place = (lane: L) => ("coming" in lane ? Infinity : (lane.device ?? -1));
  return [...lanes].sort((a, b) => names.compare(key(a), key(b)) || Math.sign(place(a) - place(b)) || 0);
}
