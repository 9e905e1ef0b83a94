import { fill, LOCALES, type Language } from "@/words/language";
import type { Words } from "@/words/shape";

const STEPS: [keyof Words["time"], number][] = [
  ["d", 86_400],
  ["h", 3_600],
  ["m", 60],
];
const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** A duration in its two largest units, such as `2 h 5 min`. */
export function durationText(words: Words, seconds: number): string {
  let left = Math.max(0, Math.round(seconds));
  const parts: string[] = [];
  for (const [unit, length] of STEPS) {
    if (left >= length || parts.length === 1) {
      const n = Math.floor(left / length);
      if (n > 0) parts.push(fill(words.time[unit], { n }));
      left -= n * length;
    }
    if (parts.length === 2) return parts.join(" ");
  }
  if (parts.length === 0 || (parts.length === 1 && left > 0 && seconds < 3_600)) {
    parts.push(fill(words.time.s, { n: left }));
  }
  return parts.join(" ");
}

/** A duration in its largest unit, such as `2 h`, where more would only flicker. */
export function aboutText(words: Words, seconds: number): string {
  const [unit, length] = STEPS.find((step) => seconds >= step[1]) ?? ["s", 1];
  return fill(words.time[unit], { n: Math.floor(seconds / length) });
}

/** `more` is how many digits are added to those that suffice for a single value. */
export function bytesText(bytes: number, more = 0): string {
  let amount = bytes;
  let unit = 0;
  while (amount >= 1024 && unit < BINARY.length - 1) {
    amount /= 1024;
    unit += 1;
  }
  return `${amount.toFixed(unit === 0 ? 0 : (amount >= 100 ? 0 : 1) + more)} ${BINARY[unit] ?? ""}`;
}

/** Cores, of which the API tells fractions in thousandths: `212250m` is 212.25. */
export function coresText(cores: string): string {
  const thousandths = /^(\d+)m$/.exec(cores)?.[1];
  return thousandths === undefined ? cores : String(Number(thousandths) / 1000);
}

/** Formats are made once: a table that scrolls asks for them thousands of times. */
const NUMBERS = { en: new Intl.NumberFormat(LOCALES.en), zh: new Intl.NumberFormat(LOCALES.zh) };
const TIME = { dateStyle: "medium", timeStyle: "medium" } as const;
const TIMES = { en: new Intl.DateTimeFormat(LOCALES.en, TIME), zh: new Intl.DateTimeFormat(LOCALES.zh, TIME) };

/** With one digit behind the point, or two below 1, where a quarter is not 0.3. */
export const rounded = (n: number): number => (Math.abs(n) < 1 ? Math.round(n * 100) / 100 : Math.round(n * 10) / 10);

export const numberText = (language: Language, n: number): string => NUMBERS[language].format(n);

export const timeText = (language: Language, at: string | Date): string => TIMES[language].format(new Date(at));

/** Seconds from the one instant to the other; to now if there is no other. */
export const secondsBetween = (from: string, to: string | null | undefined, now: number): number =>
  ((to ? Date.parse(to) : now) - Date.parse(from)) / 1000;
