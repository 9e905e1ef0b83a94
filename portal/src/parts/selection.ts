import { useCallback, useMemo, useRef, useState } from "react";

export interface Selection {
  keys: ReadonlySet<string>;
  /** Selects the row or leaves it; with `isRange`, all rows from the last one that was toggled. */
  toggle: (key: string, isRange?: boolean) => void;
  toggleAll: () => void;
  clear: () => void;
}

/** Rows that are chosen for an action. Those that are no longer listed do not count. */
export function useSelection(listed: readonly string[]): Selection {
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string | null>(null);
  const keys = useMemo(() => new Set(listed.filter((key) => chosen.has(key))), [listed, chosen]);
  const toggle = useCallback(
    (key: string, isRange = false) => {
      const range = isRange && last.current ? between(listed, last.current, key) : [key];
      last.current = key;
      setChosen((old) => {
        const next = new Set(old);
        const isAdding = !old.has(key);
        for (const each of range) {
          if (isAdding) next.add(each);
          else next.delete(each);
        }
        return next;
      });
    },
    [listed],
  );
  const toggleAll = useCallback(
    () => setChosen((old) => (listed.every((key) => old.has(key)) ? new Set() : new Set(listed))),
    [listed],
  );
  const clear = useCallback(() => setChosen(new Set()), []);
  return useMemo(() => ({ keys, toggle, toggleAll, clear }), [keys, toggle, toggleAll, clear]);
}

/** The keys from the one to the other, whichever comes first; only the second if the first is not listed. */
export function between(listed: readonly string[], one: string, other: string): string[] {
  const [from, to] = [listed.indexOf(one), listed.indexOf(other)];
  if (from < 0 || to < 0) return [other];
  return listed.slice(Math.min(from, to), Math.max(from, to) + 1);
}
