import { describe, expect, it } from "vitest";

import {
  comingLanes,
  inOrder,
  placeOf,
  placeOfSpan,
  readScheduleView,
  shownOf,
  ticksOf,
  type Lane,
  type Schedule,
} from "@/pages/schedule/lanes";

const HOUR = 3_600_000;
const lane = (node: string, device: number | null, from = 0, to: number | null = HOUR): Lane => ({
  cluster: "lab",
  node,
  device,
  spans: [
    {
      from: new Date(from).toISOString(),
      to: to === null ? null : new Date(to).toISOString(),
      job: "1",
      name: "train",
      owner: "ada",
      task: "1.1.worker.0",
      state: "Running",
      endsBy: null,
    },
  ],
});

const span = (from: number, to: number | null) => lane("n1", 0, from, to).spans[0]!;
const iso = (at: number) => new Date(at).toISOString();
const job = (id: string | null, from: number, to: number | null, ...nodes: string[]) => ({
  job: id,
  name: id ?? "(private)",
  owner: id && "ada",
  cluster: "lab",
  from: iso(from),
  to: to === null ? null : iso(to),
  nodes,
});
const schedule = (expected: Schedule["expected"], reserved: Schedule["reserved"] = []): Schedule => ({
  since: iso(0),
  until: iso(HOUR),
  lanes: [],
  expected,
  reserved,
  isCut: false,
});
const coming = (found: Schedule) =>
  comingLanes(found, shownOf(found, "1h")).map((each) => [
    each.node,
    ...each.coming.map(({ kind, name }) => `${kind} ${name}`),
  ]);

describe("the schedule", () => {
  it("cuts spans at the window, and lets what runs reach the line of now", () => {
    const past = { since: 0, now: 2 * HOUR, end: 2 * HOUR };
    expect(placeOfSpan(span(-HOUR, null), past)).toEqual({ left: 0, width: 100 });
    expect(placeOfSpan(span(HOUR, 2 * HOUR), past)).toEqual({ left: 50, width: 50 });
    expect(placeOfSpan(span(HOUR, null), { ...past, end: 4 * HOUR })).toEqual({ left: 25, width: 25 });
  });

  it("draws the shortest task, too", () => {
    expect(placeOfSpan(span(0, 1), { since: 0, now: HOUR, end: 168 * HOUR }).width).toBeGreaterThan(0);
  });

  it("draws what comes after now, and what has no end to the right edge", () => {
    const shown = shownOf(schedule([]), "1h");
    expect(shown).toEqual({ since: 0, now: HOUR, end: 2 * HOUR });
    expect(placeOf(1.5 * HOUR, Infinity, shown)).toEqual({ left: 75, width: 25 });
    expect(coming(schedule([job("late", 3 * HOUR, null, "n1")]))).toEqual([]);
  });

  it("has a lane for each node, and another only for what overlaps there", () => {
    const found = schedule([
      job("first", HOUR, 1.5 * HOUR, "n1", "n2"),
      job("after", 1.5 * HOUR, null, "n1"),
      job("beside", 1.2 * HOUR, null, "n1"),
      job("on a pool", HOUR, null),
    ]);
    expect(coming(found)).toEqual([
      ["n1", "expected first", "expected after"],
      ["n2", "expected first"],
      ["n1", "expected beside"],
    ]);
  });

  it("has a job once whose nodes are reserved and which is expected there", () => {
    const kept = { ...job("big", 1.5 * HOUR, null, "n1"), to: undefined };
    const next = { ...kept, job: "next", name: "next", from: null, nodes: ["n2"] };
    expect(coming(schedule([job("big", 1.5 * HOUR, 1.8 * HOUR, "n1")], [kept, next]))).toEqual([
      ["n2", "reserved next"],
      ["n1", "reserved big"],
    ]);
  });

  it("keeps in the address how far it looks ahead", () => {
    expect(readScheduleView({ since: "6h", ahead: "1d" })).toEqual({ since: "6h", ahead: "1d" });
    expect(readScheduleView({ ahead: "none" })).toEqual({ ahead: "none" });
    expect(readScheduleView({ ahead: "9y" })).toEqual({});
  });

  it("has what comes to a node below its GPUs", () => {
    const next = { cluster: "lab", node: "n2", coming: [] };
    const lanes = inOrder([next, lane("n10", 0), lane("n2", 7), next, lane("n2", null)]);
    expect(lanes.map((each) => ("coming" in each ? "»" : each.device))).toEqual([null, 7, "»", "»", 0]);
  });

  it("orders nodes as people count", () => {
    const lanes = inOrder([lane("n10", 0), lane("n2", 1), lane("n2", 0), lane("n2", null)]);
    expect(lanes.map((each) => `${each.node}/${each.device}`)).toEqual(["n2/null", "n2/0", "n2/1", "n10/0"]);
  });

  it("has a few round ticks in every window", () => {
    for (const hours of [1, 6, 24, 168]) {
      const ticks = ticksOf(1234, 1234 + hours * HOUR);
      expect(ticks.length).toBeGreaterThan(1);
      expect(ticks.length).toBeLessThanOrEqual(9);
    }
  });
});
