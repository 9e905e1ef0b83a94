import { useCallback, useMemo, useState, type ReactNode } from "react";

/** One column of a table. `width` is in pixels; a wide column takes what the others leave. */
export interface Column<Row> {
  id: string;
  label: string;
  width: number;
  cell: (row: Row) => ReactNode;
  /** The API's name of the order by this column; without it the column cannot be sorted by. */
  sort?: string;
  isNumber?: boolean;
  isWide?: boolean;
  /** A column that cannot be hidden. */
  isFixed?: boolean;
}

export interface Sorting {
  by: string;
  isDescending: boolean;
}

export interface ShownColumns<Row> {
  shown: Column<Row>[];
  isShown: (id: string) => boolean;
  toggle: (id: string) => void;
  reset: () => void;
  isDefault: boolean;
}

/** Which columns are shown. The choice is kept in the browser under the name of the table. */
export function useColumns<Row>(table: string, all: Column<Row>[], first: readonly string[]): ShownColumns<Row> {
  const stored = `muster-columns-${table}`;
  const [chosen, setChosen] = useState<string[]>(() => readChoice(localStorage.getItem(stored), first));
  const keep = useCallback(
    (ids: string[] | null) => {
      setChosen(ids ?? [...first]);
      if (ids) localStorage.setItem(stored, JSON.stringify(ids));
      else localStorage.removeItem(stored);
    },
    [first, stored],
  );
  return useMemo(() => {
    const isShown = (id: string) => chosen.includes(id);
    return {
      shown: all.filter((column) => column.isFixed ?? isShown(column.id)),
      isShown,
      toggle: (id: string) => keep(isShown(id) ? chosen.filter((each) => each !== id) : [...chosen, id]),
      reset: () => keep(null),
      isDefault: chosen.length === first.length && first.every(isShown),
    };
  }, [all, chosen, first, keep]);
}

export function readChoice(stored: string | null, first: readonly string[]): string[] {
  try {
    const found: unknown = JSON.parse(stored ?? "null");
    if (Array.isArray(found)) return found.filter((each) => typeof each === "string");
  } catch {
    // what was stored is not readable, so that it counts as no choice
  }
  return [...first];
}
