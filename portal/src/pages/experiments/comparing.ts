import { namesOf, type Run } from "./view";
import { bytesText } from "@/parts/amounts";
import { valueText, type Value } from "@/parts/plots/scales";
import type { Words } from "@/words/shape";

/** A property of the runs that are compared: a text for each of them. */
export interface Line {
  name: string;
  cells: string[];
  isDiffering: boolean;
}

/** As `muster history compare` shows them: what nobody has is left out, and so are variables that are the same. */
export function linesOf(runs: readonly Run[], words: Words): Line[] {
  const w = words.experiments;
  const fact = (name: string, value: (run: Run) => string) => lineOf(name, runs.map(value));
  const keyed = (title: string, kind: "params" | "env" | "environment" | "tags") =>
    namesOf(runs, kind).map((name) =>
      lineOf(
        `${title} ${name}`,
        runs.map((run) => valueText((run[kind] as Record<string, Value>)[name])),
      ),
    );
  const lines = [
    fact(w.owner, (run) => run.owner),
    fact(w.cluster, (run) => run.cluster),
    fact(w.package, (run) => (run.package ?? "").slice(0, 12)),
    fact(w.commit, (run) => run.commit.replace(/^([^-]{12}).*?(-dirty)?$/, "$1$2")),
    ...keyed(w.environment, "environment"),
    fact(w.gpuHours, (run) => valueText(run.gpuHours)),
    fact(w.cost, (run) => valueText(run.cost)),
    fact(w.peakMemory, (run) => (run.peakMemoryBytes === null ? "" : bytesText(run.peakMemoryBytes))),
    fact(w.gpuBusy, (run) => (run.gpuPercent === null ? "" : `${Math.round(run.gpuPercent)} %`)),
    fact(w.energy, (run) => (run.energyJ === null ? "" : `${Math.round(run.energyJ / 3600)} Wh`)),
    ...keyed(w.param, "params"),
    ...keyed(w.variable, "env").filter((line) => line.isDiffering),
    ...keyed(w.tag, "tags").filter((line) => line.isDiffering),
  ];
  const metrics = namesOf(runs, "metrics").map((name) =>
    lineOf(
      name,
      runs.map((run) => valueText(run.metrics[name]?.last)),
    ),
  );
  return [...lines, ...metrics].filter((line) => line.cells.some((cell) => cell !== "" && cell !== "–"));
}

const lineOf = (name: string, cells: string[]): Line => ({ name, cells, isDiffering: new Set(cells).size > 1 });

/** What runs are called: those that share their name also have their id. */
export function titlesOf(runs: readonly Run[]): string[] {
  const count = new Map<string, number>();
  for (const { name } of runs) count.set(name, (count.get(name) ?? 0) + 1);
  return runs.map((run) => ((count.get(run.name) ?? 0) > 1 ? `${run.name} (${run.id})` : run.name));
}
