import { powersBetween, ticksBetween } from "./ticks";

/** A value of a parameter or a metric, as the API answers it. */
export type Value = string | number | boolean;

/** Where values stand between the lowest and the highest one: numbers and texts alike. */
export interface Scale {
  name: string;
  /** For each value its place from 0 to 1; null if it has none. */
  places: (number | null)[];
  ticks: { place: number; label: string }[];
  isLog: boolean;
}

/** Numbers that are so many times as large as others are told apart on a logarithmic scale only. */
const LOG_FROM = 100;
const MOST_TEXTS = 12;

/** Numbers are placed as numbers if all values are; else each text has a place of its own. */
export function scaleOf(name: string, values: readonly (Value | null | undefined)[]): Scale {
  const read = values.map(numberOf);
  const numbers = read.filter((each) => each !== null);
  const isKnown = (value: Value | null | undefined) => value !== null && value !== undefined;
  if (numbers.length === values.filter(isKnown).length) return ofNumbers(name, read, numbers);
  return ofTexts(
    name,
    values.map((value) => (isKnown(value) ? String(value) : null)),
  );
}

function ofNumbers(name: string, values: (number | null)[], numbers: number[]): Scale {
  const low = numbers.reduce((least, each) => Math.min(least, each), Infinity);
  const high = numbers.reduce((most, each) => Math.max(most, each), -Infinity);
  if (!(high > low)) {
    const ticks = numbers.length > 0 ? [{ place: 0.5, label: valueText(low) }] : [];
    return { name, places: values.map((value) => (value === null ? null : 0.5)), ticks, isLog: false };
  }
  const isLog = low > 0 && high / low >= LOG_FROM;
  const place = (value: number) =>
    isLog ? Math.log(value / low) / Math.log(high / low) : (value - low) / (high - low);
  const ticks = isLog ? powersBetween(low, high) : ticksBetween(low, high, numbers.every(Number.isInteger));
  return {
    name,
    places: values.map((value) => (value === null ? null : place(value))),
    ticks: ticks.map((value) => ({ place: place(value), label: valueText(value) })),
    isLog,
  };
}

function ofTexts(name: string, values: (string | null)[]): Scale {
  const texts = [...new Set(values.filter((value) => value !== null))].sort();
  const placeOf = new Map(texts.map((text, index) => [text, texts.length === 1 ? 0.5 : index / (texts.length - 1)]));
  const apart = Math.ceil(texts.length / MOST_TEXTS);
  return {
    name,
    places: values.map((value) => (value === null ? null : (placeOf.get(value) ?? null))),
    ticks: texts.filter((_, index) => index % apart === 0).map((label) => ({ place: placeOf.get(label)!, label })),
    isLog: false,
  };
}

/** The number that a value is, also one that was noted as a text; null for anything else. */
export function numberOf(value: Value | null | undefined): number | null {
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "string" || value.trim() === "") return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

/** A value for people: numbers with six digits. */
export const valueText = (value: Value | null | undefined): string =>
  value === null || value === undefined
    ? "–"
    : typeof value === "number"
      ? String(Number(value.toPrecision(6)))
      : String(value);
