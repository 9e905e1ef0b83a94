import type { Schemas } from "@/api/client";
import { quoted } from "@/parts/Command";

/** What the form asks for. */
export type Policy = NonNullable<Schemas["SimulatedVariantIn"]["policy"]>;
export type Durations = NonNullable<Schemas["SimulationIn"]["durations"]>;
export const POLICIES: Policy[] = ["default", "fair", "fifo", "first-fit", "easy", "las", "ssf", "srsf"];
export const DURATIONS: Durations[] = ["unknown", "exact", "limit"];
export const PREEMPTIONS = ["0", "helios", "checkpoint:30m", "none"] as const;
export const SINCES = ["1d", "7d", "30d", "90d"] as const;
export const MOST_VARIANTS = 4;

export interface Variant {
  policy: Policy;
  model: string;
  more: number;
}

export interface Asked {
  cluster: string;
  since: (typeof SINCES)[number];
  onlyOwn: boolean;
  durations: Durations;
  preemption: (typeof PREEMPTIONS)[number];
  variants: Variant[];
}

export function bodyOf(asked: Asked): Schemas["SimulationIn"] {
  return {
    cluster: asked.cluster,
    since: asked.since,
    onlyOwn: asked.onlyOwn,
    durations: asked.durations,
    preemptionCost: asked.preemption,
    variants: asked.variants.map(({ policy, model, more }) => ({
      policy,
      title: "",
      ...(model && more ? { moreGpus: { [model]: more } } : {}),
    })),
  };
}

/** The nearest on the command line, which counts nodes where this form counts GPUs. */
export function simCommand(asked: Asked): string {
  const policies = [...new Set(asked.variants.map((variant) => variant.policy))].join(",");
  const line = ["muster sim --from-history --since", asked.since, "--policy", quoted(policies)];
  line.push("--durations", asked.durations);
  if (asked.preemption !== "0") line.push("--preemption-cost", asked.preemption);
  return line.join(" ");
}

/** The models of the GPUs of a cluster, each once. */
export const modelsOf = (nodes: readonly Schemas["NodeOut"][], cluster: string): string[] =>
  [...new Set(nodes.filter((node) => node.cluster === cluster).flatMap((node) => node.gpus.map((gpu) => gpu.model)))]
    .filter((model) => model !== "")
    .sort();

/** The first cluster that has GPUs, else the first. */
export const clusterWithGpus = (nodes: readonly Schemas["NodeOut"][], clusters: readonly string[]): string =>
  clusters.find((name) => nodes.some((node) => node.cluster === name && node.gpus.length > 0)) ?? clusters[0] ?? "";
