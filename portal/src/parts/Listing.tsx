import { Table } from "@mantine/core";
import type { ReactNode } from "react";

import classes from "./Listing.module.css";
import { Scrolled } from "./Scrolled";

export interface Part<Row> {
  /** The head of the column; a column of buttons has none to see. */
  label: string;
  cell: (row: Row) => ReactNode;
  isNumber?: boolean;
}

interface ListingProps<Row> {
  label: string;
  parts: Part<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
}

/** A short table as it is, without scrolling of its own. At the width of a phone each row is a card. */
export function Listing<Row>({ label, parts, rows, keyOf }: ListingProps<Row>) {
  return (
    <Scrolled label={label}>
      <Table className={classes.table ?? ""} verticalSpacing={4}>
        <Table.Thead>
          <Table.Tr>
            {parts.map((part, index) => (
              <Table.Th key={index} className={part.isNumber ? "number" : ""}>
                {part.label}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {rows.map((row) => (
            <Table.Tr key={keyOf(row)} data-row={keyOf(row)}>
              {parts.map((part, index) => (
                <Table.Td key={index} data-label={part.label} className={part.isNumber ? "number" : ""}>
                  {part.cell(row)}
                </Table.Td>
              ))}
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Scrolled>
  );
}
