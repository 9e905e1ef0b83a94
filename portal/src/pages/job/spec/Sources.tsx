import { Table, Title } from "@mantine/core";

import { valueAt, valueText } from "./paths";
import type { Schemas } from "@/api/client";
import { Scrolled } from "@/parts/Scrolled";
import { fill, named, useWords } from "@/words/language";

/** Where the values of the effective spec come from that its author did not write. */
export function Sources({ found }: { found: Schemas["SpecOut"] }) {
  const words = useWords();
  const w = words.job.spec;
  if (!found.sources.length) return null;
  return (
    <>
      <Title order={2} size="h6">
        {w.changed}
      </Title>
      <Scrolled label={w.changed}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{w.path}</Table.Th>
              <Table.Th>{w.value}</Table.Th>
              <Table.Th>{w.source}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {found.sources.map(({ path, source, detail }) => (
              <Table.Tr key={path}>
                <Table.Th scope="row">{path}</Table.Th>
                <Table.Td>{valueText(valueAt(found.spec, path))}</Table.Td>
                <Table.Td>{fill(named(w.sources, source), { detail })}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Scrolled>
    </>
  );
}
