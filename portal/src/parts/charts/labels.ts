/** How a chart writes a value. `more` asks for so many digits beyond those that suffice for a single value. */
export type Format = (value: number, more?: number) => string;

/** Two digits below 1, where a quarter of a core is not 0.3. */
export const cores: Format = (value, more = 0) =>
  value === 0 ? "0" : value.toFixed((value < 1 ? 2 : value < 10 ? 1 : 0) + more);
export const percent: Format = (value, more = 0) => `${value.toFixed(more)} %`;
export const watts: Format = (value, more = 0) => `${value === 0 ? "0" : value.toFixed(value < 1 ? 1 + more : more)} W`;
export const plain: Format = (value, more = 0) => String(Number(value.toFixed(1 + more)));

const MOST_DIGITS = 6;

/** The labels of ticks, with as many digits as tell what each of them is. A label that would be repeated is left out. */
export function tickLabels(ticks: readonly number[], format: Format): string[] {
  const exact = ticks.map((tick) => parseFloat(format(tick, MOST_DIGITS)));
  for (let more = 0; more < MOST_DIGITS; more += 1) {
    const labels = ticks.map((tick) => format(tick, more));
    if (labels.every((label, index) => parseFloat(label) === exact[index])) return withoutRepeats(labels);
  }
  return withoutRepeats(ticks.map((tick) => format(tick, MOST_DIGITS)));
}

const withoutRepeats = (labels: string[]): string[] =>
  labels.map((label, index) => (labels.indexOf(label) < index ? "" : label));

const LEAST = 0.001;

/** Where an axis that begins at 0 ends. One of zeros alone has an end, too, and bytes are not divided. */
export const upperEnd = (most: number | null, isBytes: boolean): number =>
  most && most > 0 ? Math.max(most * 1.05, isBytes ? 1 : LEAST) : 1;
