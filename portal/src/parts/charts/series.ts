/** One curve: a value for each time; null where nothing was measured, undefined where only other curves have a value. */
export interface Series {
  label: string;
  values: (number | null | undefined)[];
}

/** The tokens --series-0 and on: colours that most colour-blind people tell apart. Dashes repeat the difference. */
const COLOURS = 8;
const DASHES: number[][] = [[], [6, 3], [2, 3], [8, 3, 2, 3]];

export const strokeToken = (index: number): string => `--series-${index % COLOURS}`;

/** The first round of colours is solid, the next ones are dashed. */
export const dashOf = (index: number): number[] => DASHES[Math.floor(index / COLOURS) % DASHES.length] ?? [];

export interface Summary {
  label: string;
  last: number | null;
  mean: number | null;
  most: number | null;
}

/** What a person who does not see the curve is told. */
export function summaryOf(series: Series): Summary {
  const known = series.values.filter((value) => typeof value === "number");
  return {
    label: series.label,
    last: known.at(-1) ?? null,
    mean: known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : null,
    most: known.length ? Math.max(...known) : null,
  };
}

const AROUND_S = 30;

/** From when to when the axis goes: as the samples do. Around a single one there is a minute, not years. */
export function timeRange(first: number | null, last: number | null): [number | null, number | null] {
  if (first === null || last === null || last > first) return [first, last];
  return [first - AROUND_S, last + AROUND_S];
}
