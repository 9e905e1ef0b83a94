import { Paper, Table, Text, VisuallyHidden } from "@mantine/core";
import type { Ref } from "react";

import { summaryOf, type Series } from "./series";
import { useWords } from "@/words/language";

interface ChartFigureProps {
  title: string;
  series: Series[];
  /** How a value is written; null is one that is not known. */
  shown: (value: number | null) => string;
  /** Where the curves are drawn. */
  place: Ref<HTMLDivElement>;
}

/** The frame of drawn curves, with a table that says the same to screen readers. */
export function ChartFigure({ title, series, shown, place }: ChartFigureProps) {
  const words = useWords();
  return (
    <Paper withBorder p="xs" component="figure" m={0}>
      <Text size="xs" fw={600} component="figcaption">
        {title}
      </Text>
      <div ref={place} aria-hidden="true" />
      <VisuallyHidden>
        <Table>
          <Table.Caption>{title}</Table.Caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.charts.curve}</Table.Th>
              <Table.Th>{words.charts.now}</Table.Th>
              <Table.Th>{words.charts.mean}</Table.Th>
              <Table.Th>{words.charts.most}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {series.map(summaryOf).map((each) => (
              <Table.Tr key={each.label}>
                <Table.Td>{each.label}</Table.Td>
                <Table.Td>{shown(each.last)}</Table.Td>
                <Table.Td>{shown(each.mean)}</Table.Td>
                <Table.Td>{shown(each.most)}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </VisuallyHidden>
    </Paper>
  );
}
