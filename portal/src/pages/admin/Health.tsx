import { Alert, Button, Group, Paper, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { bytesText, durationText, numberText } from "@/parts/amounts";
import { Loading, ProblemBox } from "@/parts/feedback";
import { fill, named, useLanguage, type Language } from "@/words/language";
import type { Words } from "@/words/shape";

/** How the server itself is. */
export function Health() {
  const { language, words } = useLanguage();
  const health = useQuery(queries.health());
  if (health.error && !health.data) return <ProblemBox error={health.error} onRetry={() => void health.refetch()} />;
  if (!health.data) return <Loading />;
  return (
    <>
      {health.data.isHeld && <Alert mb="xs" color="red" title={words.admin.held} />}
      {health.data.database.problem && <Alert mb="xs" color="red" title={health.data.database.problem} />}
      <Paper withBorder p="sm" mb="xs">
        <Group gap="xl" component="dl" m={0}>
          {factsOf(words, language, health.data).map(([label, value]) => (
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
      </Paper>
      <Button variant="default" loading={health.isFetching} onClick={() => void health.refetch()}>
        {words.common.refresh}
      </Button>
    </>
  );
}

function factsOf(words: Words, language: Language, health: Schemas["ServerHealth"]): [string, string][] {
  const { database, loop, queue, disk, process } = health;
  const facts: [string, string][] = [
    [words.admin.version, health.version],
    [words.admin.serverRole, `${named(words.admin.serverRoles, health.role)} · ${health.server}`],
    [words.admin.uptime, durationText(words, health.uptimeS)],
    [words.admin.database, databaseText(words, database)],
    [
      words.admin.loop,
      fill(words.admin.loopDelays, { mean: rounded(loop.meanDelayMs), most: rounded(loop.longestDelayMs) }),
    ],
  ];
  if (queue) {
    const counts = { open: numberText(language, queue.open), waiting: numberText(language, queue.waiting) };
    facts.push([words.admin.queue, fill(words.admin.queueCounts, counts)]);
  }
  if (disk.freeBytes !== null && disk.totalBytes !== null) {
    const bytes = { free: bytesText(disk.freeBytes), total: bytesText(disk.totalBytes) };
    facts.push([words.admin.disk, fill(words.admin.diskFree, bytes)]);
  }
  if (process.memoryBytes !== null) facts.push([words.admin.memory, bytesText(process.memoryBytes)]);
  const { threads, connections, streams } = process;
  facts.push([words.admin.process, fill(words.admin.processCounts, { threads, connections, streams })]);
  return facts;
}

function databaseText(words: Words, database: Schemas["DatabaseHealth"]): string {
  const parts = [database.kind];
  if (database.answersMs !== null) parts.push(fill(words.admin.answers, { ms: rounded(database.answersMs) }));
  if (database.sizeBytes !== null) parts.push(bytesText(database.sizeBytes));
  return parts.join(" · ");
}

const rounded = (ms: number): string => ms.toFixed(1);
