import { faultsZh } from "./faultsZh";
import type { Language } from "./language";
import { alertsZh, reasonsZh } from "./reasonsZh";
import { stopsZh } from "./stopsZh";

/**
 * What the server says by a code with names and figures. Its English sentence is exact, so that English readers see it
 * as it is; for others there are sentences by code here. A code that is newer than this page shows the server's words.
 */
export interface Coded {
  code: string | null;
  numbers: Readonly<Record<string, unknown>> | null;
  /** The server's own sentence. */
  message: string;
}

/**
 * Sentences of one code. The first whose names are all known is the one; `{a|b}` is whichever is known, and what is in
 * `[…]` is left out if one of its names is not.
 */
export type Sentences = readonly string[];
export interface Told {
  message: Sentences;
  advice: Sentences;
}

const FAULTS: Partial<Record<Language, Readonly<Record<string, Told>>>> = { zh: faultsZh };
const REASONS: Partial<Record<Language, Readonly<Record<string, Told>>>> = { zh: reasonsZh };
const STOPS: Partial<Record<Language, typeof stopsZh>> = { zh: stopsZh };
const ALERTS: Partial<Record<Language, Readonly<Record<string, Told>>>> = { zh: alertsZh };

/** Why a job waits, was stopped or failed. */
export const reasonText = (language: Language, coded: Coded): string => {
  if (!coded.code) return stopText(language, coded.message);
  const told = coded.code ? (REASONS[language]?.[coded.code] ?? FAULTS[language]?.[coded.code]) : undefined;
  return sentence(told?.message, coded);
};

/** What to do about it; `message` is the server's advice. */
export const adviceText = (language: Language, coded: Coded): string => {
  const told = coded.code ? (REASONS[language]?.[coded.code] ?? FAULTS[language]?.[coded.code]) : undefined;
  return sentence(told?.advice, coded);
};

/** Why an attempt was stopped, of which the server keeps only its sentence. */
export function stopText(language: Language, sentence: string): string {
  const known = STOPS[language]?.find(([pattern]) => pattern.test(sentence));
  return known ? sentence.replace(...known) : sentence;
}

export const alertText = (language: Language, coded: Coded): string =>
  sentence(coded.code ? ALERTS[language]?.[coded.code]?.message : undefined, coded);

export const alertAdvice = (language: Language, coded: Coded): string =>
  coded.message && sentence(coded.code ? ALERTS[language]?.[coded.code]?.advice : undefined, coded);

function sentence(sentences: Sentences | undefined, coded: Coded): string {
  const numbers = { ...coded.numbers, message: coded.numbers?.message ?? coded.message };
  for (const each of sentences ?? []) {
    const filled = filledIn(each, numbers);
    if (filled !== null) return filled;
  }
  return coded.message;
}

/** The sentence with its names, or null if one of them is not known. */
export function filledIn(text: string, numbers: Readonly<Record<string, unknown>>): string | null {
  return placed(
    text.replace(OPTIONAL, (_, part: string) => (placed(part, numbers) === null ? "" : part)),
    numbers,
  );
}

const OPTIONAL = /\[([^\]]*)\]/g;

function placed(text: string, numbers: Readonly<Record<string, unknown>>): string | null {
  const values = [...text.matchAll(PLACE)].map(([, names]) => valueOf(numbers, names ?? ""));
  if (values.includes(null)) return null;
  return text.replace(PLACE, () => values.shift() ?? "");
}

const PLACE = /\{([\w|]+)\}/g;

function valueOf(numbers: Readonly<Record<string, unknown>>, names: string): string | null {
  const found = names.split("|").map((name) => numbers[name]);
  const known = found.filter((value) => typeof value === "string" || typeof value === "number");
  return known.map(String).find((text) => text !== "") ?? null;
}
