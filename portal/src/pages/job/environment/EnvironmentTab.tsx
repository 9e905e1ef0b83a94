import { Code, Group, Select, Stack, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import classes from "../spec/Spec.module.css";
import { AttemptSelect, useAttempt } from "../AttemptSelect";
import type { TabProps } from "../JobPage";
import { rangesText, workerName } from "../naming";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { quoted } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { obstacleOf } from "@/parts/StaleNotice";
import { Scrolled } from "@/parts/Scrolled";
import { useWords } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

/** With which command, variables, ports and devices each task is started. */
export function EnvironmentTab({ reference, job }: TabProps) {
  const words = useWords();
  const w = words.job.environment;
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const attempt = useAttempt(job);
  const tasks = useQuery(queries.tasks(reference, attempt === job.attempt ? undefined : String(attempt)));
  const names = (tasks.data?.items ?? []).map(workerName);
  const worker = view.worker && names.includes(view.worker) ? view.worker : names[0];
  const found = useQuery({ ...queries.taskEnvironment(reference, worker ?? "", attempt), enabled: !!worker });
  const obstacle = obstacleOf(tasks) ?? obstacleOf(found);
  const askAgain = () => void Promise.all([tasks.refetch(), worker && found.refetch()]);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={askAgain} />;
  if (tasks.data && !worker) return <EmptyState title={w.noneStarted} />;
  if (!found.data || !worker) return <Loading />;
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <Select
          aria-label={w.task}
          w={190}
          searchable
          allowDeselect={false}
          data={names}
          value={worker}
          onChange={(chosen) =>
            chosen && void navigate({ search: (old) => ({ ...old, worker: chosen }), replace: true })
          }
        />
        <AttemptSelect job={job} />
      </Group>
      <Start found={found.data} />
      <Variables env={found.data.env} />
    </Stack>
  );
}

type Environment = Schemas["TaskEnvironmentOut"];

function Start({ found }: { found: Environment }) {
  const words = useWords();
  const w = words.job.environment;
  const facts: [string, string][] = [
    [w.command, found.commandLine || [...found.argv, ...found.args].map(quoted).join(" ")],
    [w.node, found.node],
    [w.image, found.image ?? ""],
    [w.folder, found.workdir ?? ""],
    [words.job.workers.ports, found.ports.join(", ")],
    [words.job.workers.gpus, rangesText(found.devices)],
  ];
  return (
    <Table layout="auto">
      <Table.Tbody>
        {facts
          .filter(([, value]) => value)
          .map(([name, value]) => (
            <Table.Tr key={name}>
              <Table.Th scope="row" w={120}>
                {name}
              </Table.Th>
              <Table.Td className={classes.value ?? ""}>
                <Code>{value}</Code>
              </Table.Td>
            </Table.Tr>
          ))}
      </Table.Tbody>
    </Table>
  );
}

function Variables({ env }: { env: Environment["env"] }) {
  const words = useWords();
  const w = words.job.environment;
  const [filter, setFilter] = useState("");
  const wanted = filter.trim().toLowerCase();
  const shown = Object.entries(env)
    .filter(([name, value]) => `${name}=${value}`.toLowerCase().includes(wanted))
    .sort(([a], [b]) => a.localeCompare(b));
  return (
    <>
      <Group gap="xs">
        <TextInput
          type="search"
          data-page-search
          aria-label={w.filter}
          placeholder={w.filter}
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
        <Text size="xs" className="soft">
          {w.masked}
        </Text>
      </Group>
      {shown.length === 0 ? (
        <EmptyState title={w.none} />
      ) : (
        <Scrolled label={w.variable}>
          <Table>
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{w.variable}</Table.Th>
                <Table.Th>{w.value}</Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              {shown.map(([name, value]) => (
                <Table.Tr key={name}>
                  <Table.Th scope="row">{name}</Table.Th>
                  <Table.Td className={classes.value ?? ""}>{value}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </Scrolled>
      )}
    </>
  );
}
