import { Select } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import type { Job } from "@/api/client";
import { changePriority, moveJob, queries, type Priority } from "@/api/queries";
import { useIsAdmin } from "@/app/session";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { fill, named, useLanguage } from "@/words/language";

const PRIORITIES: Priority[] = ["low", "normal", "high", "urgent"];

interface ActProps {
  job: Job;
  onClose: () => void;
}

/** After the act, the queue is asked for again. */
function useAct(work: () => Promise<unknown>, onClose: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: work,
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["queue"] });
      void client.invalidateQueries({ queryKey: ["jobs"] });
      onClose();
    },
  });
}

/** Another priority: owners choose among what the virtual cluster allows, admins among all. */
export function PriorityDialog({ job, onClose }: ActProps) {
  const { words } = useLanguage();
  const isAdmin = useIsAdmin();
  const vc = useQuery(queries.virtualClusters()).data?.items.find((each) => each.name === job.vc);
  const allowed = isAdmin || !vc ? PRIORITIES : PRIORITIES.filter((each) => vc.priorities.includes(each));
  const [priority, setPriority] = useState<Priority>(allowed.includes("urgent") ? "urgent" : "high");
  const act = useAct(() => changePriority(job.id, priority), onClose);
  return (
    <ConfirmDialog
      isOpen
      title={fill(words.queue.bumpTitle, { name: job.name })}
      text={words.queue.bumpText}
      commands={[`muster bump ${quoted(job.id)} --priority ${priority}`]}
      confirm={words.queue.bump}
      isPending={act.isPending}
      error={act.error}
      onConfirm={() => act.mutate()}
      onClose={onClose}
    >
      <Select
        label={words.jobs.priority}
        data={allowed.map((value) => ({ value, label: named(words.priorities, value) }))}
        value={priority}
        allowDeselect={false}
        onChange={(value) => setPriority(value as Priority)}
      />
    </ConfirmDialog>
  );
}

/** Another virtual or physical cluster; the rules of a submission there apply. */
export function MoveDialog({ job, onClose }: ActProps) {
  const { words } = useLanguage();
  const clusters = useQuery(queries.clusters()).data?.items ?? [];
  const virtual = useQuery(queries.virtualClusters()).data?.items ?? [];
  const here = job.vc || job.cluster;
  const names = (items: { name: string }[]) => items.map((item) => item.name).filter((name) => name !== here);
  const [to, setTo] = useState<string | null>(null);
  const act = useAct(() => moveJob(job.id, to ?? ""), onClose);
  return (
    <ConfirmDialog
      isOpen
      title={fill(words.queue.moveTitle, { name: job.name })}
      text={words.queue.moveText}
      commands={[`muster move ${quoted(job.id)} --to ${to === null ? "CLUSTER" : quoted(to)}`]}
      confirm={words.queue.move}
      isReady={to !== null}
      isPending={act.isPending}
      error={act.error}
      onConfirm={() => act.mutate()}
      onClose={onClose}
    >
      <Select
        label={words.queue.target}
        data={[
          { group: words.jobs.vc, items: names(virtual) },
          { group: words.jobs.cluster, items: names(clusters).filter((name) => !names(virtual).includes(name)) },
        ]}
        value={to}
        onChange={setTo}
      />
    </ConfirmDialog>
  );
}
