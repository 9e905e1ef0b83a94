import { useSyncExternalStore } from "react";

import { aboutText, durationText, timeText } from "./amounts";
import { fill, useLanguage } from "@/words/language";

/** One timer for all times on the page. It rests while the tab is hidden. */
const listeners = new Set<() => void>();
let now = Date.now();
let timer = 0;

function tick(): void {
  if (document.hidden) return;
  now = Date.now();
  listeners.forEach((listener) => listener());
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  if (listeners.size === 1) {
    now = Date.now();
    timer = window.setInterval(tick, 1_000);
  }
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) window.clearInterval(timer);
  };
}

export const useNow = (): number => useSyncExternalStore(subscribe, () => now);

/** About how long ago, or in how long; the exact time is its title. */
export function Ago({ at }: { at: string | null | undefined }) {
  const { language, words } = useLanguage();
  const shown = useNow();
  if (!at) return <span className="soft">–</span>;
  const seconds = (shown - Date.parse(at)) / 1000;
  const text =
    Math.abs(seconds) < 2
      ? words.common.justNow
      : fill(seconds > 0 ? words.time.ago : words.time.in, { time: aboutText(words, Math.abs(seconds)) });
  return (
    <time dateTime={at} title={timeText(language, at)}>
      {text}
    </time>
  );
}

/** In how long something is expected. What is overdue is expected at any moment, as it has not happened yet. */
export function Expected({ at }: { at: string | null | undefined }) {
  const { language, words } = useLanguage();
  const shown = useNow();
  if (!at || Date.parse(at) > shown) return <Ago at={at} />;
  return (
    <time dateTime={at} title={timeText(language, at)}>
      {words.time.anyMoment}
    </time>
  );
}

/** A duration that grows as long as it has no end. */
export function Elapsed({ from, to }: { from: string | null | undefined; to: string | null | undefined }) {
  const { words } = useLanguage();
  const shown = useNow();
  if (!from) return <span className="soft">–</span>;
  const end = to ? Date.parse(to) : shown;
  return <span>{durationText(words, (end - Date.parse(from)) / 1000)}</span>;
}
