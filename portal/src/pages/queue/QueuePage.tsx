import { ActionIcon, Button, Chip, Group, Menu, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";

import { useExpectedStarts } from "./expected_starts";
import { useLiveQueue } from "./live_queue";
import { MoveDialog, PriorityDialog } from "./QueueActs";
import { readQueueView } from "./view";
import type { Schemas } from "@/api/client";
import { SOON } from "@/api/pacing";
import { queries } from "@/api/queries";
import { useNamedOwner } from "@/app/ownName";
import { mayChange, useMe } from "@/app/session";
import { JobCard, useJobColumns } from "@/pages/jobs/columns";
import type { Column } from "@/parts/columns";
import { DataTable } from "@/parts/DataTable";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { MoreIcon } from "@/parts/icons";
import { PageFrame } from "@/parts/PageFrame";
import { Expected } from "@/parts/Time";
import { fill, plural, useLanguage } from "@/words/language";

type QueuedJob = Schemas["QueuedJobOut"];
type Dialog = { act: "bump" | "move"; job: QueuedJob } | null;

const route = getRouteApi("/queue");
const keyOf = (job: QueuedJob) => job.id;
const nameOf = (job: QueuedJob) => job.name;

/** Who runs, and who waits in which order, why, and until when. */
export function QueuePage() {
  const { language, words } = useLanguage();
  const { user } = useMe();
  const navigate = useNavigate({ from: "/queue" });
  const change = useCallback(
    (part: Record<string, unknown>) =>
      void navigate({ search: (old) => readQueueView({ ...old, ...part }), replace: true }),
    [navigate],
  );
  const view = useNamedOwner(route.useSearch(), change);
  const { running, ...asked } = view;
  const queue = useQuery(queries.queue(asked));
  const clusters = useQuery(queries.clusters()).data?.items ?? [];
  const [dialog, setDialog] = useState<Dialog>(null);
  const close = () => setDialog(null);
  useLiveQueue(LIVE, SOON);
  const columns = useQueueColumns(setDialog);
  const items = queue.data?.items ?? [];
  const waiting = items.filter((job) => job.position !== null);
  const shown = running ? items : waiting;
  return (
    <PageFrame
      title={words.queue.title}
      tools={
        <Text size="sm" className="soft" role="status">
          {queue.data &&
            `${plural(language, words.queue.waiting, waiting.length)} · ${plural(language, words.queue.running, items.length - waiting.length)}`}
        </Text>
      }
    >
      <Group gap={8}>
        <Chip size="xs" checked={view.owner === user} onChange={(isOn) => change({ owner: isOn ? user : undefined })}>
          {words.jobs.mine}
        </Chip>
        <Chip size="xs" checked={running ?? false} onChange={(isOn) => change({ running: isOn || undefined })}>
          {words.queue.runningToo}
        </Chip>
        <Select
          aria-label={words.jobs.cluster}
          placeholder={words.queue.allClusters}
          w={170}
          clearable
          value={view.cluster ?? null}
          data={clusters.map((cluster) => cluster.name)}
          onChange={(cluster) => change({ cluster })}
        />
      </Group>
      {queue.error && <ProblemBox error={queue.error} onRetry={() => void queue.refetch()} />}
      {queue.isPending && <Loading />}
      {queue.data && shown.length === 0 && (
        <EmptyState title={running ? words.queue.none : words.queue.noneWaiting}>
          {(view.owner ?? view.cluster) && (
            <Button variant="default" renderRoot={(props) => <Link {...props} to="/queue" search={{}} />}>
              {words.jobs.clear}
            </Button>
          )}
        </EmptyState>
      )}
      {shown.length > 0 && (
        <DataTable
          label={words.queue.title}
          columns={columns}
          rows={shown}
          keyOf={keyOf}
          nameOf={nameOf}
          total={shown.length}
          onOpen={(job) => void navigate({ to: "/jobs/$ref", params: { ref: job.id } })}
          card={(job) => <JobCard job={job} />}
        />
      )}
      {dialog?.act === "bump" && <PriorityDialog job={dialog.job} onClose={close} />}
      {dialog?.act === "move" && <MoveDialog job={dialog.job} onClose={close} />}
    </PageFrame>
  );
}

const LIVE = [["queue"], ["schedule", "expected"]];

/** Narrower than in the list of jobs, so that the row of acts is in view at 1440 px. */
const REASON_WIDTH = 190;
const SHARED = ["name", "state", "reason", "owner", "vc", "gpus", "waited", "priority"];

function useQueueColumns(onAct: (dialog: Dialog) => void): Column<QueuedJob>[] {
  const { words } = useLanguage();
  const jobs = useJobColumns();
  const starts = useExpectedStarts();
  return useMemo(() => {
    const shared = SHARED.flatMap((id) => jobs.filter((column) => column.id === id)).map((column) =>
      column.isWide ? { ...column, width: REASON_WIDTH } : column,
    );
    const position: Column<QueuedJob> = {
      id: "position",
      label: "#",
      width: 44,
      isNumber: true,
      cell: (job) => job.position ?? <span className="soft">–</span>,
    };
    const start: Column<QueuedJob> = {
      id: "start",
      label: words.queue.expected,
      width: 120,
      isNumber: true,
      cell: (job) => <Expected at={job.position === null ? null : starts?.get(job.id)} />,
    };
    const act: Column<QueuedJob> = {
      id: "act",
      label: words.queue.change,
      width: 84,
      cell: (job) => <RowMenu job={job} onAct={onAct} />,
    };
    return [position, ...shared.slice(0, 3), start, ...shared.slice(3), act];
  }, [jobs, words, starts, onAct]);
}

/** What the reader may do with a waiting job; nothing is shown for others. */
function RowMenu({ job, onAct }: { job: QueuedJob; onAct: (dialog: Dialog) => void }) {
  const { words } = useLanguage();
  const me = useMe();
  if (job.position === null || !mayChange(me, job)) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <ActionIcon aria-label={fill(words.queue.changeOf, { name: job.name })}>
          <MoreIcon />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => onAct({ act: "bump", job })}>{words.queue.bump}</Menu.Item>
        <Menu.Item onClick={() => onAct({ act: "move", job })}>{words.queue.move}</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
