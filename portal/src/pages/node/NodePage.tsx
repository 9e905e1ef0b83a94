import { Badge, Group, Paper, Stack, Table, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { actsOf, NodeActions } from "./NodeActions";
import { NodeAlerts } from "./NodeAlerts";
import { NodeCharts } from "./NodeCharts";
import { NodeTasks } from "./NodeTasks";
import { OtherDevices } from "./OtherDevices";
import { useLiveNode } from "./live_node";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useIsAdmin } from "@/app/session";
import { gpuUsage, isHeld } from "@/pages/cluster/cells";
import { bytesText, coresText } from "@/parts/amounts";
import { Loading, ProblemBox } from "@/parts/feedback";
import { Scrolled } from "@/parts/Scrolled";
import { StateBadge } from "@/parts/StateBadge";
import { Ago } from "@/parts/Time";
import { fill, useLanguage, useWords } from "@/words/language";

type NodeDetail = Schemas["NodeDetailOut"];

const route = getRouteApi("/nodes/$name");

/** One node: its state and alerts, what runs there and on which GPU, how busy it was, and what an admin can do. */
export function NodePage() {
  const { name } = route.useParams();
  const { cluster } = route.useSearch();
  const isAdmin = useIsAdmin();
  const navigate = useNavigate();
  const node = useQuery(queries.node(name, cluster));
  useLiveNode(name, cluster);
  if (node.error) return <ProblemBox error={node.error} onRetry={() => void node.refetch()} />;
  if (!node.data) return <Loading />;
  return (
    <Stack gap="sm">
      <Group justify="space-between">
        <Group gap="sm">
          <Title order={1} size="h3">
            {node.data.name}
          </Title>
          <StateBadge state={node.data.state} />
          <Text size="sm" className="soft">
            <Ago at={node.data.since} />
          </Text>
        </Group>
        {isAdmin && (
          <NodeActions
            node={node.data}
            acts={actsOf(node.data)}
            onRemoved={() => void navigate({ to: "/cluster", search: { cluster: node.data.cluster } })}
          />
        )}
      </Group>
      <NodeAlerts node={node.data} />
      <Facts node={node.data} />
      <Gpus node={node.data} />
      <OtherDevices node={node.data} />
      <NodeCharts name={node.data.name} cluster={node.data.cluster} />
      <NodeTasks node={node.data} />
    </Stack>
  );
}

function Facts({ node }: { node: NodeDetail }) {
  const words = useWords();
  const facts: [string, string][] = [
    [words.jobs.cluster, node.cluster],
    [words.node.address, node.address],
    ["CPU", `${coresText(node.cpu.used)} / ${coresText(node.cpu.total)}`],
    [words.node.memory, `${bytesText(node.memory.used)} / ${bytesText(node.memory.total)}`],
    ["GPU", `${node.gpus.filter(isHeld).length} / ${node.gpus.length}`],
  ];
  if (node.login) facts.push([words.node.login, node.login]);
  if (node.note) facts.push([words.node.note, node.note]);
  if (node.partitions.length) facts.push([words.node.partitions, node.partitions.join(", ")]);
  if (node.others) {
    const others = { cpu: coresText(node.others.cpu), memory: bytesText(node.others.memory), gpus: node.others.gpus };
    facts.push([words.node.byOthers, fill(words.node.othersHave, others)]);
  }
  return (
    <Paper withBorder p="sm">
      <Group gap="xl" component="dl" m={0}>
        {facts.map(([label, value]) => (
          <div key={label}>
            <Text size="xs" className="soft" component="dt">
              {label}
            </Text>
            <Text size="sm" component="dd" m={0}>
              {value}
            </Text>
          </div>
        ))}
      </Group>
      <Group gap={4} mt="xs">
        {Object.entries(node.labels).map(([key, value]) => (
          <Badge key={key} variant="light" tt="none">
            {key}={value}
          </Badge>
        ))}
      </Group>
    </Paper>
  );
}

function Gpus({ node }: { node: NodeDetail }) {
  const { words } = useLanguage();
  if (node.gpus.length === 0) return null;
  const number = (value: number | null | undefined, unit: string) =>
    value === null || value === undefined ? "–" : `${value} ${unit}`;
  return (
    <Paper withBorder p="sm">
      <Scrolled label={words.node.gpus}>
        <Table>
          <Table.Caption className="soft">{words.node.gpus}</Table.Caption>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>{words.node.gpu}</Table.Th>
              <Table.Th>{words.cluster.model}</Table.Th>
              <Table.Th>{words.node.holder}</Table.Th>
              <Table.Th className="number">{words.node.load}</Table.Th>
              <Table.Th className="number">{words.node.memory}</Table.Th>
              <Table.Th className="number">{words.node.temperature}</Table.Th>
              <Table.Th className="number">{words.node.power}</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {node.gpus.map((gpu) => {
              const usage = gpuUsage(node, gpu.index);
              return (
                <Table.Tr key={gpu.index}>
                  <Table.Td>{gpu.index}</Table.Td>
                  <Table.Td>{gpu.model}</Table.Td>
                  <Table.Td>
                    {gpu.outOfService
                      ? fill(words.cluster.outOfService, { why: gpu.outOfService })
                      : isHeld(gpu)
                        ? [gpu.job ?? words.cluster.inUse, gpu.owner].filter(Boolean).join(" · ")
                        : words.cluster.free}
                  </Table.Td>
                  <Table.Td className="number">{number(usage?.load, "%")}</Table.Td>
                  <Table.Td className="number">
                    {usage?.memoryUsedBytes ? bytesText(usage.memoryUsedBytes) : "–"}
                  </Table.Td>
                  <Table.Td className="number">{number(usage?.temperatureC, "°C")}</Table.Td>
                  <Table.Td className="number">{number(usage?.powerW, "W")}</Table.Td>
                </Table.Tr>
              );
            })}
          </Table.Tbody>
        </Table>
      </Scrolled>
    </Paper>
  );
}
