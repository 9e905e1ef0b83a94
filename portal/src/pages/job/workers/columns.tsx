import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { rangesText, workerName } from "../naming";
import type { Task } from "@/api/client";
import type { Column } from "@/parts/columns";
import { StateBadge } from "@/parts/StateBadge";
import { Ago, Elapsed } from "@/parts/Time";
import { fill } from "@/words/language";
import type { Words } from "@/words/shape";

/** The columns of the table of workers. */
export function workerColumns(words: Words, reference: string, mayRead: boolean): Column<Task>[] {
  const w = words.job.workers;
  const log: Column<Task> = {
    id: "log",
    label: w.log,
    width: 60,
    cell: (task) => (
      <Anchor
        size="sm"
        aria-label={fill(w.logOf, { name: workerName(task) })}
        renderRoot={(props) => (
          <Link
            {...props}
            to="/jobs/$ref"
            params={{ ref: reference }}
            search={{ tab: "logs", worker: workerName(task), attempt: task.attempt }}
          />
        )}
      >
        {w.log}
      </Anchor>
    ),
  };
  return [
    { id: "name", label: w.name, width: 140, cell: (task) => <b title={task.name}>{workerName(task)}</b> },
    { id: "state", label: w.state, width: 110, cell: (task) => <StateBadge state={task.state} /> },
    { id: "node", label: w.node, width: 120, cell: (task) => task.node },
    { id: "gpus", label: w.gpus, width: 130, cell: (task) => devicesText(task) },
    { id: "ports", label: w.ports, width: 110, cell: (task) => task.ports.join(", ") },
    { id: "exit", label: w.exit, width: 90, cell: (task) => exitText(words, task) },
    { id: "started", label: w.started, width: 110, cell: (task) => <Ago at={task.startedAt} /> },
    {
      id: "duration",
      label: w.duration,
      width: 100,
      isNumber: true,
      cell: (task) => <Elapsed from={task.startedAt} to={task.endedAt} />,
    },
    ...(mayRead ? [log] : []),
    {
      id: "reason",
      label: w.reason,
      width: 200,
      isWide: true,
      cell: (task) => (
        <span title={task.reason || (task.waitReason ?? "")}>
          {task.reason || task.waitReason}
          {task.estimatedStart && (
            <>
              {" "}
              <Ago at={task.estimatedStart} />
            </>
          )}
        </span>
      ),
    },
  ];
}

function devicesText(task: Task): string {
  const others = task.extendedDevices.map((device) => `${device.resource} ${device.index}`);
  return [rangesText(task.devices), ...others].filter(Boolean).join("; ");
}

function exitText(words: Words, task: Task): string {
  if (task.signal !== null) return fill(words.job.workers.exitSignal, { n: task.signal });
  return task.exitCode === null ? "" : String(task.exitCode);
}
