import { describe, expect, it } from "vitest";

import { barsOf, inOrder, ticksOf, type Lane } from "@/pages/schedule/lanes";

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

describe("the schedule", () => {
  it("cuts spans at the window, and lets what runs reach its end", () => {
    const [bar] = barsOf(lane("n1", 0, -HOUR, null), 0, 2 * HOUR);
    expect(bar).toMatchObject({ left: 0, width: 100 });
    expect(barsOf(lane("n1", 0, HOUR, 2 * HOUR), 0, 2 * HOUR)[0]).toMatchObject({ left: 50, width: 50 });
  });

  it("draws the shortest task, too", () => {
    expect(barsOf(lane("n1", 0, 0, 1), 0, 168 * HOUR)[0]?.width).toBeGreaterThan(0);
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
