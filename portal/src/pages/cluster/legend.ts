import { isHeld, ownerTone, type Colouring } from "./cells";
import type { Node } from "@/api/client";
import type { LegendEntry } from "@/parts/Legend";
import { fill } from "@/words/language";
import type { Words } from "@/words/shape";

/** As many people are named; the others are counted. */
const MOST_OWNERS = 16;

/** What the cells of the heat map mean. */
export function cellLegend(words: Words, by: Colouring, nodes: readonly Node[]): LegendEntry[] {
  const legend = words.cluster.legend;
  const free: LegendEntry = { tone: "free", meaning: legend.free };
  const entries: Record<Colouring, () => LegendEntry[]> = {
    load: () => [
      free,
      { tone: "idle", letter: "!", meaning: legend.idle },
      { tone: "load-1", meaning: "5–25 %" },
      { tone: "load-2", meaning: "–50 %" },
      { tone: "load-3", meaning: "–75 %" },
      { tone: "load-4", meaning: "–100 %" },
      { tone: "held", letter: "•", meaning: legend.unmeasured },
    ],
    owner: () => [free, ...ownerLegend(words, ownersOn(nodes)), { tone: "held", letter: "•", meaning: legend.others }],
    health: () => [free, { tone: "held", meaning: legend.held }],
  };
  return [
    ...entries[by](),
    { tone: "sick", letter: "×", meaning: legend.sick },
    { tone: "away", letter: "?", meaning: legend.away },
  ];
}

/** The colour and the initial of each person. */
export function ownerLegend(words: Words, owners: readonly string[]): LegendEntry[] {
  const named = owners
    .slice(0, MOST_OWNERS)
    .map((owner) => ({ tone: ownerTone(owner), letter: owner.charAt(0), meaning: owner }));
  const left = owners.length - named.length;
  return left > 0 ? [...named, { meaning: fill(words.cluster.legend.more, { n: left }) }] : named;
}

const ownersOn = (nodes: readonly Node[]): string[] =>
  [...new Set(nodes.flatMap(({ gpus }) => gpus.filter(isHeld).flatMap(({ owner }) => owner ?? [])))].sort();
