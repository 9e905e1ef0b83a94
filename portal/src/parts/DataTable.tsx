import { Checkbox, UnstyledButton } from "@mantine/core";
import { useMediaQuery } from "@mantine/hooks";
import { useVirtualizer, type Virtualizer } from "@tanstack/react-virtual";
import { memo, useEffect, useRef, useState, type ReactNode, type RefObject } from "react";

import type { Column, Sorting } from "./columns";
import classes from "./DataTable.module.css";
import type { Selection } from "./selection";
import { useKeys } from "@/app/keyboard";
import { fill, useWords } from "@/words/language";

export interface DataTableProps<Row> {
  /** What the table is, for screen readers. */
  label: string;
  columns: Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** What a row is called where only its name can be said. */
  nameOf: (row: Row) => string;
  /** How many rows there are in all if not all are loaded. */
  total?: number | undefined;
  sorting?: Sorting | undefined;
  onSort?: ((sorting: Sorting) => void) | undefined;
  selection?: Selection | undefined;
  onOpen?: ((row: Row) => void) | undefined;
  /** Called when the reader comes near the end of what is loaded. */
  onNearEnd?: (() => void) | undefined;
  onScrolled?: ((isScrolled: boolean) => void) | undefined;
  /** The table begins at its top again when this changes. */
  beginning?: string | undefined;
  /** What a row is at the width of a phone. */
  card: (row: Row) => ReactNode;
  /** A row that stands out less, such as one that no longer belongs to the list. */
  isFaded?: ((row: Row) => boolean) | undefined;
}

const ROW_HEIGHT = 32; // --row-height
const CARD_HEIGHT = 92;
const NEAR_END_ROWS = 100;
const PHONE = "(max-width: 48em)";

/**
 * A table of which only the rows in view are drawn, so that 10,000 rows scroll smoothly. It is a real table that says
 * how many rows it has. `j` and `k` move between rows, `x` selects one, Enter opens it.
 */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { rows, keyOf, onNearEnd, onScrolled, onOpen, selection } = props;
  const isNarrow = useMediaQuery(PHONE, window.matchMedia(PHONE).matches);
  const scroller = useRef<HTMLDivElement>(null);
  const [cursor, setCursor] = useState<string | null>(null);

  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? CARD_HEIGHT : ROW_HEIGHT),
    getItemKey: (index) => keyOf(rows[index] as Row),
    overscan: 12,
  });
  useEffect(() => {
    virtual.measure();
  }, [virtual, isNarrow]);
  useEffect(() => {
    virtual.scrollToOffset(0);
  }, [virtual, props.beginning]);
  const items = virtual.getVirtualItems();
  const last = items.at(-1)?.index ?? 0;
  useEffect(() => {
    if (rows.length > 0 && last >= rows.length - NEAR_END_ROWS) onNearEnd?.();
  }, [last, rows.length, onNearEnd]);
  const isScrolled = (virtual.scrollOffset ?? 0) > ROW_HEIGHT;
  useEffect(() => {
    onScrolled?.(isScrolled);
  }, [isScrolled, onScrolled]);

  useKeys((key, event) => {
    if (key === "j" || key === "k") {
      const at = rows.findIndex((row) => keyOf(row) === cursor);
      const next = Math.min(Math.max(at + (key === "j" ? 1 : -1), 0), rows.length - 1);
      const row = rows[next];
      if (row === undefined) return;
      setCursor(keyOf(row));
      virtual.scrollToIndex(next, { align: "auto" });
      focusRow(scroller, keyOf(row));
    } else if (key === "x" && cursor !== null) {
      selection?.toggle(cursor);
    } else if (key === "Enter" && cursor !== null && !isOnControl()) {
      const row = rows.find((each) => keyOf(each) === cursor);
      if (row === undefined || !onOpen) return;
      event.preventDefault();
      onOpen(row);
    }
  });

  const drawn: Drawn<Row> = { ...props, virtual, cursor, onCursor: setCursor };
  return (
    <div ref={scroller} className={classes.scroller} data-testid="rows">
      {isNarrow ? <Cards {...drawn} /> : <Rows {...drawn} />}
    </div>
  );
}

type Drawn<Row> = DataTableProps<Row> & {
  virtual: Virtualizer<HTMLDivElement, Element>;
  cursor: string | null;
  onCursor: (key: string) => void;
};

function Rows<Row>(props: Drawn<Row>) {
  const { columns, rows, keyOf, virtual, selection } = props;
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const width = columns.reduce((sum, column) => sum + column.width, selection ? 34 : 0);
  const span = columns.length + (selection ? 1 : 0);
  return (
    <table
      className={classes.table}
      style={{ minWidth: width }}
      aria-label={props.label}
      aria-rowcount={(props.total ?? rows.length) + 1}
    >
      <colgroup>
        {selection && <col style={{ width: 34 }} />}
        {columns.map((column) => (
          <col key={column.id} style={column.isWide ? {} : { width: column.width }} />
        ))}
      </colgroup>
      <Head {...props} />
      <tbody>
        {before > 0 && <Gap height={before} span={span} />}
        {items.map((item) => {
          const row = rows[item.index] as Row;
          const key = keyOf(row);
          return (
            <TableRow
              key={key}
              row={row}
              id={key}
              name={props.nameOf(row)}
              index={item.index}
              columns={columns}
              isSelected={selection?.keys.has(key) ?? false}
              toggle={selection?.toggle}
              isCursor={props.cursor === key}
              isFaded={props.isFaded?.(row) ?? false}
              onCursor={props.onCursor}
            />
          );
        })}
        {after > 0 && <Gap height={after} span={span} />}
      </tbody>
    </table>
  );
}

const Gap = ({ height, span }: { height: number; span: number }) => (
  <tr aria-hidden="true">
    <td colSpan={span} className={classes.gap} style={{ height }} />
  </tr>
);

function Head<Row>({ columns, rows, sorting, onSort, selection }: Drawn<Row>) {
  const words = useWords();
  const count = selection?.keys.size ?? 0;
  return (
    <thead>
      <tr aria-rowindex={1}>
        {selection && (
          <th scope="col">
            <Checkbox
              aria-label={words.table.selectAll}
              checked={count > 0 && count === rows.length}
              indeterminate={count > 0 && count < rows.length}
              onChange={selection.toggleAll}
            />
          </th>
        )}
        {columns.map((column) => (
          <th
            key={column.id}
            scope="col"
            className={column.isNumber ? "number" : ""}
            aria-sort={sortOf(column, sorting)}
          >
            {column.sort && onSort ? (
              <UnstyledButton
                className={classes.sort ?? ""}
                title={fill(words.table.sortBy, { column: column.label })}
                onClick={() => onSort(nextSorting(column, sorting))}
              >
                {column.label}
                <span aria-hidden="true">{arrowOf(column, sorting)}</span>
              </UnstyledButton>
            ) : (
              column.label
            )}
          </th>
        ))}
      </tr>
    </thead>
  );
}

interface TableRowProps<Row> {
  row: Row;
  id: string;
  name: string;
  index: number;
  columns: Column<Row>[];
  isSelected: boolean;
  toggle: Selection["toggle"] | undefined;
  isCursor: boolean;
  isFaded: boolean;
  onCursor: (key: string) => void;
}

const TableRow = memo(function TableRow<Row>(props: TableRowProps<Row>) {
  const words = useWords();
  const { row, id, columns, toggle } = props;
  return (
    <tr
      data-row={id}
      data-cursor={props.isCursor || undefined}
      data-faded={props.isFaded || undefined}
      className={classes.row}
      tabIndex={-1}
      aria-rowindex={props.index + 2}
      data-selected={props.isSelected || undefined}
      onFocus={() => props.onCursor(id)}
    >
      {toggle && (
        <td>
          <input
            type="checkbox"
            className={classes.check}
            aria-label={fill(words.table.selectRow, { name: props.name })}
            checked={props.isSelected}
            onChange={(event) => toggle(id, (event.nativeEvent as MouseEvent).shiftKey)}
          />
        </td>
      )}
      {columns.map((column) => (
        <td key={column.id} className={column.isNumber ? "number" : ""}>
          {column.cell(row)}
        </td>
      ))}
    </tr>
  );
}) as <Row>(props: TableRowProps<Row>) => ReactNode;

function Cards<Row>(props: Drawn<Row>) {
  const words = useWords();
  const { rows, keyOf, virtual, selection } = props;
  return (
    <ul className={classes.cards} aria-label={props.label} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const row = rows[item.index] as Row;
        const key = keyOf(row);
        return (
          <li
            key={key}
            ref={virtual.measureElement}
            data-index={item.index}
            data-row={key}
            data-cursor={props.cursor === key || undefined}
            className={classes.card}
            style={{ transform: `translateY(${item.start}px)` }}
            aria-setsize={props.total ?? rows.length}
            aria-posinset={item.index + 1}
          >
            {selection && (
              <Checkbox
                aria-label={fill(words.table.selectRow, { name: props.nameOf(row) })}
                checked={selection.keys.has(key)}
                onChange={() => selection.toggle(key)}
              />
            )}
            <div className={classes.cardBody}>{props.card(row)}</div>
          </li>
        );
      })}
    </ul>
  );
}

/** The row may be drawn only after the scroll position has changed. */
function focusRow(scroller: RefObject<HTMLDivElement | null>, key: string): void {
  requestAnimationFrame(() => {
    scroller.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(key)}"]`)?.focus({ preventScroll: true });
  });
}

const isOnControl = (): boolean => !!document.activeElement?.closest("a, button, input, select, textarea");

function sortOf<Row>(
  column: Column<Row>,
  sorting: Sorting | undefined,
): "ascending" | "descending" | "none" | undefined {
  if (!column.sort) return undefined;
  if (column.sort !== sorting?.by) return "none";
  return sorting.isDescending ? "descending" : "ascending";
}

function arrowOf<Row>(column: Column<Row>, sorting: Sorting | undefined): string {
  if (column.sort !== sorting?.by) return "";
  return sorting?.isDescending ? " ↓" : " ↑";
}

/** Texts begin with the first, amounts and times with the largest; a second press turns the order around. */
export function nextSorting<Row>(column: Column<Row>, sorting: Sorting | undefined): Sorting {
  const by = column.sort ?? "";
  if (sorting?.by === by) return { by, isDescending: !sorting.isDescending };
  return { by, isDescending: column.isNumber ?? false };
}
