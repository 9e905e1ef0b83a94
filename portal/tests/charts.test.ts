import { describe, expect, it } from "vitest";

import { bytesText, rounded } from "@/parts/amounts";
import { cores, percent, plain, tickLabels, upperEnd, watts, type Format } from "@/parts/charts/labels";
import { timeRange } from "@/parts/charts/series";

describe("the axis of time", () => {
  it("goes as far as the samples", () => {
    expect(timeRange(100, 160)).toEqual([100, 160]);
    expect(timeRange(null, null)).toEqual([null, null]);
  });

  it("is a minute around a single sample", () => {
    expect(timeRange(1_000, 1_000)).toEqual([970, 1_030]);
  });
});

describe("the ticks of an axis", () => {
  const rate: Format = (value, more) => `${bytesText(value, more)}/s`;

  it("have as many digits as tell them apart", () => {
    expect(tickLabels([0, 0.001, 0.002], cores)).toEqual(["0", "0.001", "0.002"]);
    expect(tickLabels([0, 0.25, 0.5], cores)).toEqual(["0", "0.25", "0.50"]);
    expect(tickLabels([0, 2.5, 5], watts)).toEqual(["0 W", "2.5 W", "5.0 W"]);
    expect(tickLabels([0, 0.5, 1], watts)).toEqual(["0 W", "0.5 W", "1 W"]);
    expect(tickLabels([0, 50, 100], percent)).toEqual(["0 %", "50 %", "100 %"]);
    expect(tickLabels([0, 0.05, 0.1], plain)).toEqual(["0", "0.05", "0.1"]);
    expect(tickLabels([0, 512, 1024, 1536], rate)).toEqual(["0 B/s", "512 B/s", "1.0 KiB/s", "1.5 KiB/s"]);
    expect(tickLabels([1024, 1280], bytesText)).toEqual(["1.00 KiB", "1.25 KiB"]);
  });

  it("are not repeated", () => {
    expect(tickLabels([0, 0.4, 1], (value) => value.toFixed(0))).toEqual(["0", "", "1"]);
  });

  it("go beyond the highest value, and to 1 if there is none", () => {
    expect(upperEnd(100, false)).toBe(105);
    expect(upperEnd(0, false)).toBe(1);
    expect(upperEnd(1e-9, false)).toBe(0.001);
    expect(upperEnd(null, true)).toBe(1);
    expect(upperEnd(0.2, true)).toBe(1);
  });
});

it("a quarter of a core is not 0.3", () => {
  expect(cores(0.25)).toBe("0.25");
  expect(rounded(0.25)).toBe(0.25);
  expect(rounded(12.34)).toBe(12.3);
});
