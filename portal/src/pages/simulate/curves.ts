import type { Schemas } from "@/api/client";
import { durationText, numberText } from "@/parts/amounts";
import type { Series } from "@/parts/charts/series";
import type { Language } from "@/words/language";
import type { Words } from "@/words/shape";

export type Curve = keyof Schemas["SimulatedCurves"];
type Kind = "time" | "share" | "number";

/** The figures that are shown, of all that `muster sim -o json` knows. */
export const MEASURES: readonly { name: keyof Words["simulate"]["measures"]; kind: Kind }[] = [
  { name: "mean_queue", kind: "time" },
  { name: "mean_jct", kind: "time" },
  { name: "p90_jct", kind: "time" },
  { name: "makespan", kind: "time" },
  { name: "utilisation", kind: "share" },
  { name: "preemptions", kind: "number" },
  { name: "lost_gpu_h", kind: "number" },
];

/** One curve of each run. */
export const curvesOf = (result: Schemas["SimulationResult"], curve: Curve, titles: string[]): Series[] =>
  result.runs.map((run, index) => ({ label: titles[index] ?? run.title, values: run.curves[curve] }));

export function figureText(words: Words, language: Language, measure: { kind: Kind }, value: unknown): string {
  if (typeof value !== "number") return "–";
  if (measure.kind === "time") return durationText(words, value);
  if (measure.kind === "share") return `${Math.round(value * 100)} %`;
  return numberText(language, Math.round(value * 10) / 10);
}

const QUANTILES = [0.5, 0.75, 0.9, 0.95, 0.99, 1];

/** The places of the shares that are shown of many: the median and the long waits. */
export function quantilesShown(shares: readonly number[]): number[] {
  const places = QUANTILES.map((least) => shares.findIndex((share) => share >= least - 1e-9));
  return [...new Set(places)].filter((place) => place >= 0);
}

/** The share of the jobs that waited for less than a second. */
export function shareAtOnce(waits: Schemas["WaitQuantiles"] | undefined): number {
  const late = waits?.seconds.findIndex((seconds) => seconds >= 1) ?? 0;
  return late < 0 ? 1 : (waits?.shares[late - 1] ?? 0);
}
