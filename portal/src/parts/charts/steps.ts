import type { Series } from "./series";
import type { Schemas } from "@/api/client";

type Point = Schemas["MetricPointOut"];

/** What one job has reported of one metric. */
export interface Reported {
  label: string;
  points: readonly Point[];
}

/**
 * The curves on one axis of steps, as charts need them. Where a curve has no point it is drawn through, and a value that
 * is not a number is a gap.
 */
export function curvesOverSteps(reported: readonly Reported[]): { steps: number[]; series: Series[] } {
  const steps = [...new Set(reported.flatMap(({ points }) => points.map(({ step }) => step)))].sort((a, b) => a - b);
  const places = new Map(steps.map((step, index) => [step, index]));
  const series = reported.map(({ label, points }) => {
    const values = new Array<number | null | undefined>(steps.length).fill(undefined);
    for (const { step, value } of points) values[places.get(step)!] = typeof value === "number" ? value : null;
    return { label, values };
  });
  return { steps, series };
}
