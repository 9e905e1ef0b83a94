import { expect, test } from "vitest";

import { bodyOf, simCommand, type Asked } from "@/pages/simulate/asking";
import { curvesOf, figureText, quantilesShown, shareAtOnce } from "@/pages/simulate/curves";
import { en } from "@/words/en";

const asked: Asked = {
  cluster: "lab",
  since: "7d",
  onlyOwn: false,
  durations: "unknown",
  preemption: "helios",
  variants: [
    { policy: "fair", model: "A100", more: 8 },
    { policy: "fifo", model: "", more: 3 },
  ],
};

test("more GPUs are asked for only of a model", () => {
  expect(bodyOf(asked).variants).toEqual([
    { policy: "fair", title: "", moreGpus: { A100: 8 } },
    { policy: "fifo", title: "" },
  ]);
});

test("the command names all policies", () => {
  expect(simCommand(asked)).toBe(
    "muster sim --from-history --since 7d --policy fair,fifo --durations unknown --preemption-cost helios",
  );
});

test("each run is one curve", () => {
  const run = {
    title: "fair",
    summary: {},
    waits: { shares: [], seconds: [] },
    curves: { waitingJobs: [1, 2], busyGpus: [], waitingGpus: [] },
  };
  expect(curvesOf({ at: [], jobs: 1, runs: [run] }, "waitingJobs", ["now"])).toEqual([
    { label: "now", values: [1, 2] },
  ]);
});

test("figures are written by their kind", () => {
  expect(figureText(en, "en", { kind: "share" }, 0.456)).toBe("46 %");
  expect(figureText(en, "en", { kind: "time" }, 65)).toBe("1 min 5 s");
  expect(figureText(en, "en", { kind: "number" }, null)).toBe("–");
});

test("of many waits the median and the long ones are shown, and how many jobs did not wait", () => {
  const shares = Array.from({ length: 50 }, (_, at) => (at + 1) / 50);
  expect(quantilesShown(shares).map((at) => shares[at])).toEqual([0.5, 0.76, 0.9, 0.96, 1]);
  expect(shareAtOnce({ shares: [0.5, 1], seconds: [0, 9] })).toBe(0.5);
  expect(shareAtOnce({ shares: [0.5, 1], seconds: [0, 0] })).toBe(1);
});
