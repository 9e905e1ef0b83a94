import { Paper, Table } from "@mantine/core";

import type { Schemas } from "@/api/client";
import { Scrolled } from "@/parts/Scrolled";
import { fill, useWords } from "@/words/language";

/** Devices that are no GPUs, such as NPUs or InfiniBand ports, and whose they are. */
export function OtherDevices({ node }: { node: Schemas["NodeDetailOut"] }) {
  const words = useWords();
  if (node.devices.length === 0) return null;
  return (
    <Paper withBorder p="sm">
      <Scrolled label={words.node.otherDevices}>
        <Table>
          <Table.Caption className="soft">{words.node.otherDevices}</Table.Caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.node.device}</Table.Th>
              <Table.Th>{words.node.holder}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {node.devices.map((device) => (
              <Table.Tr key={`${device.resource} ${device.index}`}>
                <Table.Td>
                  {device.resource} {device.index}
                </Table.Td>
                <Table.Td>
                  {device.outOfService
                    ? fill(words.cluster.outOfService, { why: device.outOfService })
                    : (device.job ?? words.cluster.free)}
                </Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Scrolled>
    </Paper>
  );
}
