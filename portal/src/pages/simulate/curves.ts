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
