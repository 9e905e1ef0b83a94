import type { FoundLine } from "./LogSearch";
import { plainText } from "./folding";
import { answer, api } from "@/api/client";

/** A text that errors have. */
export interface Sign {
  q: string;
  /** Whether case matters: `Error:` names an exception, `train error: 0.1` does not. */
  case?: boolean;
}

/** What the server finds from a cursor on. A long search ends early, and goes on at `nextCursor`. */
export type AskSearch = (sign: Sign, cursor: string | null) => Promise<Found>;
interface Found {
  items: FoundLine[];
  nextCursor: string | null;
}

/** What is surely an error; the first line with any of these is the one. */
const SURE: Sign[] = [
  { q: "Traceback (most recent call last)" },
  { q: "CUDA out of memory" },
  { q: "Error:", case: true },
  { q: "ERROR", case: true },
  { q: "FATAL", case: true },
];
/** What may be one, if nothing else is found. */
const LIKELY: Sign[] = [{ q: "error:" }, { q: "fatal" }, { q: "exception" }];
const LONGEST = 200;
const MOST_ANSWERS = 100;

export function searching(ref: string, attempt: number, worker: string | null): AskSearch {
  return (sign, cursor) => {
    const query = { ...sign, attempt, limit: 1, ...(worker && { worker: [worker] }), ...(cursor && { cursor }) };
    return answer(api.GET("/api/v1/jobs/{ref}/logs/search", { params: { path: { ref }, query } }));
  };
}

/**
 * The first line of the whole log that shows what went wrong. If no line surely does, it is the server's evidence, and
 * without any, what looks like an error. Of several workers, the first in `workers` that has such a line counts.
 */
export async function firstError(ask: AskSearch, workers: string[], evidence: string[]): Promise<FoundLine | null> {
  const last = evidence
    .map((line) => plainText(line).trim())
    .filter(Boolean)
    .at(-1);
  let answers = 0;
  const firstOf = async (sign: Sign): Promise<FoundLine | null> => {
    let cursor: string | null = null;
    while (answers < MOST_ANSWERS) {
      answers += 1;
      const found: Found = await ask(sign, cursor);
      if (found.items[0]) return found.items[0];
      cursor = found.nextCursor;
      if (cursor === null) break;
    }
    return null;
  };
  const isBefore = (one: FoundLine, other: FoundLine) =>
    (workers.indexOf(one.worker) - workers.indexOf(other.worker) || one.n - other.n) < 0;
  for (const signs of [SURE, last ? [{ q: last.slice(0, LONGEST) }] : [], LIKELY]) {
    let first: FoundLine | null = null;
    for (const sign of signs) {
      const found = await firstOf(sign);
      if (found && (!first || isBefore(found, first))) first = found;
    }
    if (first) return first;
  }
  return null;
}
