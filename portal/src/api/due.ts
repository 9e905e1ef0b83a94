import { useEffect } from "react";

import { SELDOM, usePaced } from "./pacing";

const AGAIN_MS = 15_000;
/** Timers cannot wait longer than 24 days, and nobody leaves a page open so long for an estimate. */
const FARTHEST_MS = 86_400_000;

/**
 * Asks again for what was expected at a time when that time has come, and every few seconds from then on: an estimate
 * that did not come true has become another one, of which no change on the server tells. A hidden page does not ask.
 * `act` must be stable.
 */
export function useWhenDue(at: string | null | undefined, act: () => void): void {
  const ask = usePaced(act, SELDOM);
  useEffect(
    () =>
      at
        ? whenDue(at, () => {
            if (!document.hidden) ask();
          })
        : undefined,
    [at, ask],
  );
}

/** Calls it at that time and every few seconds from then on, until the answer is called. */
export function whenDue(at: string, act: () => void): () => void {
  const leftMs = Date.parse(at) - Date.now();
  let again: ReturnType<typeof setInterval> | undefined;
  const begin = () => {
    act();
    again = setInterval(act, AGAIN_MS);
  };
  const first = leftMs < FARTHEST_MS ? setTimeout(begin, Math.max(0, leftMs)) : undefined;
  return () => {
    clearTimeout(first);
    clearInterval(again);
  };
}

/** The first of several times; null if there is none. */
export function earliest(times: Iterable<string>): string | null {
  let found: string | null = null;
  for (const time of times) if (found === null || Date.parse(time) < Date.parse(found)) found = time;
  return found;
}
