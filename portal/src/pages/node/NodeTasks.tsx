import { Anchor, Paper, Table, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import type { Schemas } from "@/api/client";
import { bytesText } from "@/parts/amounts";
import { EmptyState } from "@/parts/feedback";
import { Scrolled } from "@/parts/Scrolled";
import { StateBadge } from "@/parts/StateBadge";
import { fill, useWords } from "@/words/language";

/** What runs on the node, and what each task uses there: CPU, memory and processes. */
export function NodeTasks({ node }: { node: Schemas["NodeDetailOut"] }) {
  const words = useWords();
  const hidden = node.tasks - node.running.length;
  const amount = (value: number | null, shown: (value: number) => string) => (value === null ? "–" : shown(value));
  return (
    <Paper withBorder p="sm">
      {node.running.length > 0 && (
        <Scrolled label={words.node.tasks}>
          <Table>
            <Table.Caption className="soft">{words.node.tasks}</Table.Caption>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{words.node.task}</Table.Th>
                <Table.Th>{words.jobs.name}</Table.Th>
                <Table.Th>{words.jobs.owner}</Table.Th>
                <Table.Th>{words.jobs.state}</Table.Th>
                <Table.Th className="number">{words.job.metrics.cpu}</Table.Th>
                <Table.Th className="number">{words.node.memory}</Table.Th>
                <Table.Th className="number">{words.node.processes}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {node.running.map((task) => (
                <Table.Tr key={`${task.jobId} ${task.task}`}>
                  <Table.Td>{task.task}</Table.Td>
                  <Table.Td>
                    <Anchor renderRoot={(props) => <Link {...props} to="/jobs/$ref" params={{ ref: task.jobId }} />}>
                      {task.job}
                    </Anchor>
                  </Table.Td>
                  <Table.Td>{task.owner}</Table.Td>
                  <Table.Td>
                    <StateBadge state={task.state} />
                  </Table.Td>
                  <Table.Td className="number">{amount(task.cpuPercent, (value) => `${value.toFixed(0)} %`)}</Table.Td>
                  <Table.Td className="number">{amount(task.rssBytes, bytesText)}</Table.Td>
                  <Table.Td className="number">{amount(task.processes, String)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Scrolled>
      )}
      {node.tasks === 0 && <EmptyState title={words.node.noTasks} />}
      {hidden > 0 && <Text size="sm">{fill(words.node.hiddenTasks, { n: hidden })}</Text>}
    </Paper>
  );
}
