import type { Schemas } from "@/api/client";

export type Lane = Schemas["LaneOut"];
export type Span = Schemas["SpanOut"];

export const WINDOWS = ["10m", "1h", "6h", "1d", "7d"] as const;
export type Window = (typeof WINDOWS)[number];

export interface ScheduleView {
  since?: Window;
  cluster?: string;
}

export function readScheduleView(search: Record<string, unknown>): ScheduleView {
  const view: ScheduleView = {};
  const since = WINDOWS.find((each) => each === search.since);
  if (since) view.since = since;
  if (typeof search.cluster === "string" && search.cluster) view.cluster = search.cluster;
  return view;
}

export interface Bar {
  /** Percent of the window. */
  left: number;
  width: number;
  span: Span;
  lane: Lane;
}

const THINNEST = 0.15;

/** Where each span lies in the window, in percent. What still runs ends at the right edge. */
export function barsOf(lane: Lane, since: number, until: number): Bar[] {
  const length = Math.max(1, until - since);
  return lane.spans.map((span) => {
    const from = Math.max(since, Date.parse(span.from));
    const to = Math.min(until, span.to ? Date.parse(span.to) : until);
    return {
      left: (100 * (from - since)) / length,
      width: Math.max(THINNEST, (100 * (to - from)) / length),
      span,
      lane,
    };
  });
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

/** GPUs of a node follow each other; nodes in order of their names. */
export function inOrder(lanes: Lane[]): Lane[] {
  const key = (lane: Lane) => `${lane.cluster}/${lane.node}`;
  return [...lanes].sort(
    (a, b) => key(a).localeCompare(key(b), undefined, { numeric: true }) || (a.device ?? -1) - (b.device ?? -1),
  );
}
