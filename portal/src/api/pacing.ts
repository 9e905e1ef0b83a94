import { useCallback, useEffect, useMemo } from "react";

import { useLive, type LiveChanges } from "./live";

/**
 * When something is done that many open pages are told to do at the same moment: a while after it was asked for, each
 * page at a moment of its own, and not again before some time has passed.
 */
export interface Pace {
  /** How long it waits at least. */
  afterMs?: number;
  /** The time that passes at least from once to the next. */
  everyMs?: number;
  /** Up to so much later, by chance. */
  spreadMs: number;
}

/** For what a page is about. */
export const SOON: Pace = { everyMs: 2_000, spreadMs: 2_000 };
/** For what stands beside it. */
export const SELDOM: Pace = { everyMs: 10_000, spreadMs: 2_000 };

export interface Paced {
  /** Has it done once, however often this is called until then. */
  ask: () => void;
  cancel: () => void;
}

export function paced(act: () => void, { afterMs = 0, everyMs = 0, spreadMs }: Pace): Paced {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let nextAt = 0;
  const run = () => {
    timer = undefined;
    nextAt = Date.now() + everyMs;
    act();
  };
  return {
    ask: () => {
      if (timer !== undefined) return;
      timer = setTimeout(run, Math.max(afterMs, nextAt - Date.now()) + Math.random() * spreadMs);
    },
    cancel: () => {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}

/** What asks for the act, while the component is shown. The act must be stable (useCallback), and the pace a constant. */
export function usePaced(act: () => void, pace: Pace): () => void {
  const found = useMemo(() => paced(act, pace), [act, pace]);
  useEffect(() => found.cancel, [found]);
  return found.ask;
}

/** Calls the act, at its pace, when the server says that it is worth asking for the topic again. An empty topic is none. */
export function useHint(topic: string, act: () => void, pace: Pace): void {
  const ask = usePaced(act, pace);
  const onChanged = useCallback(
    ({ topics }: LiveChanges["changed"]) => {
      if (topics.includes(topic)) ask();
    },
    [ask, topic],
  );
  useLive(topic, "changed", onChanged);
}
