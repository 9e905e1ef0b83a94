import { Anchor, Button, Group, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";

import { AttemptSelect, useAttempt } from "../AttemptSelect";
import type { TabProps } from "../JobPage";
import { rangesText, workerName } from "../naming";
import { workerColumns } from "./columns";
import classes from "./Workers.module.css";
import type { Task } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayRead } from "@/app/session";
import { DataTable } from "@/parts/DataTable";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { obstacleOf } from "@/parts/StaleNotice";
import { StateBadge } from "@/parts/StateBadge";
import { Elapsed } from "@/parts/Time";
import { fill, named, useWords } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

/** The roles and tasks of the job with where and how they run. */
export function WorkersTab({ reference, job }: TabProps) {
  const words = useWords();
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const attempt = useAttempt(job);
  const mayRead = useMayRead(job);
  const tasks = useQuery(queries.tasks(reference, attempt === job.attempt ? undefined : String(attempt)));
  const items = useMemo(() => tasks.data?.items ?? [], [tasks.data]);
  const columns = useMemo(() => workerColumns(words, reference, mayRead), [words, reference, mayRead]);
  const shown = items.filter(
    (task) => (!view.role || task.role === view.role) && (!view.state || task.state === view.state),
  );
  const obstacle = obstacleOf(tasks);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={() => void tasks.refetch()} />;
  if (tasks.isPending) return <Loading />;
  if (!items.length) return <EmptyState title={words.job.workers.none} />;
  const choose = (chosen: { role?: string | null; state?: string | null }) =>
    void navigate({
      search: (old) => {
        const { role, state, ...rest } = { ...old, ...chosen };
        return { ...rest, ...(role && { role }), ...(state && { state }) };
      },
      replace: true,
    });
  return (
    <div className={classes.tab}>
      <Group gap="xs" mb={6}>
        <AttemptSelect job={job} />
        <Select
          aria-label={words.job.workers.role}
          placeholder={words.job.workers.everyRole}
          w={150}
          clearable
          data={[...new Set(items.map((task) => task.role))]}
          value={view.role ?? null}
          onChange={(role) => choose({ role })}
        />
        <Select
          aria-label={words.job.workers.state}
          placeholder={words.job.workers.everyState}
          w={150}
          clearable
          data={[...new Set(items.map((task) => task.state))].map((value) => ({
            value,
            label: named(words.states, value),
          }))}
          value={view.state ?? null}
          onChange={(state) => choose({ state })}
        />
        <Text size="xs" className="soft">
          {countsText(items, words.states)}
        </Text>
      </Group>
      {shown.length ? (
        <DataTable
          label={fill(words.job.workers.caption, { n: attempt })}
          columns={columns}
          rows={shown}
          keyOf={(task) => task.id}
          nameOf={workerName}
          card={(task) => <WorkerCard reference={reference} task={task} mayRead={mayRead} />}
        />
      ) : (
        <EmptyState title={words.job.workers.noMatch}>
          <Button variant="default" onClick={() => choose({ role: null, state: null })}>
            {words.jobs.clear}
          </Button>
        </EmptyState>
      )}
    </div>
  );
}

function countsText(tasks: Task[], names: Readonly<Record<string, string>>): string {
  const counts = new Map<string, number>();
  tasks.forEach(({ state }) => counts.set(state, (counts.get(state) ?? 0) + 1));
  return [...counts].map(([state, count]) => `${named(names, state)} ${count}`).join(" · ");
}

function WorkerCard({ reference, task, mayRead }: { reference: string; task: Task; mayRead: boolean }) {
  const words = useWords();
  const name = workerName(task);
  return (
    <div>
      <Group justify="space-between">
        <b>{name}</b>
        <StateBadge state={task.state} />
      </Group>
      <Text size="xs" className="soft">
        {[task.node, task.devices.length > 0 && `${words.job.workers.gpus} ${rangesText(task.devices)}`]
          .filter(Boolean)
          .join(" · ")}{" "}
        <Elapsed from={task.startedAt} to={task.endedAt} />
      </Text>
      <Text size="xs">{task.reason || task.waitReason}</Text>
      {mayRead && (
        <Anchor
          size="xs"
          renderRoot={(props) => (
            <Link
              {...props}
              to="/jobs/$ref"
              params={{ ref: reference }}
              search={{ tab: "logs", worker: name, attempt: task.attempt }}
            />
          )}
        >
          {words.job.workers.log}
        </Anchor>
      )}
    </div>
  );
}
