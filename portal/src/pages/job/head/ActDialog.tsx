import { Select, Textarea, TextInput } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState, type ReactNode } from "react";

import type { ActName } from "../acts";
import { changeOptions, linesOf, notChanges, readChanges } from "./changes";
import { answer, api, type Job } from "@/api/client";
import { queries } from "@/api/queries";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { fill, useWords } from "@/words/language";
import type { Words } from "@/words/shape";

export type DialogAct = Exclude<ActName, "clone" | "whatIf">;

interface Fields {
  grace: string;
  priority: string;
  to: string;
  changes: string;
}

interface Act {
  text: (words: Words, job: Job) => string;
  command: (id: string, fields: Fields) => string;
  run: (ref: string, fields: Fields) => Promise<Job | undefined>;
  isReady?: (fields: Fields) => boolean;
  isDangerous?: boolean;
}

const path = (ref: string) => ({ params: { path: { ref } } });

/** What each act says, what it is on the command line, and what it asks the server. */
const ACTS: Record<DialogAct, Act> = {
  stop: {
    text: (words) => words.job.dialogs.stopText,
    command: (id, { grace }) => `muster kill ${id}${grace ? ` --grace ${quoted(grace)}` : ""}`,
    run: (ref, { grace }) =>
      answer(api.POST("/api/v1/jobs/{ref}/kill", { ...path(ref), ...(grace && { body: { grace } }) })),
    isDangerous: true,
  },
  hold: {
    text: ({ job: { dialogs } }, job) =>
      job.state === "Queued" ? dialogs.holdText : `${dialogs.holdText} ${dialogs.holdRunning}`,
    command: (id) => `muster hold ${id}`,
    run: (ref) => answer(api.POST("/api/v1/jobs/{ref}/hold", path(ref))),
  },
  resume: {
    text: (words) => words.job.dialogs.resumeText,
    command: (id) => `muster resume ${id}`,
    run: (ref) => answer(api.POST("/api/v1/jobs/{ref}/resume", path(ref))),
  },
  retry: {
    text: (words) => words.job.dialogs.retryText,
    command: (id) => `muster retry ${id}`,
    run: (ref) => answer(api.POST("/api/v1/jobs/{ref}/retry", path(ref))),
  },
  bump: {
    text: (words) => words.job.dialogs.bumpText,
    command: (id, { priority }) => `muster bump ${id} --priority ${priority}`,
    run: (ref, { priority }) =>
      answer(api.POST("/api/v1/jobs/{ref}/bump", { ...path(ref), body: { priority: priority as "normal" } })),
  },
  move: {
    text: (words) => words.job.dialogs.moveText,
    command: (id, { to }) => `muster move ${id} --to ${quoted(to || "VC")}`,
    run: (ref, { to }) => answer(api.POST("/api/v1/jobs/{ref}/move", { ...path(ref), body: { to } })),
    isReady: ({ to }) => to !== "",
  },
  change: {
    text: (words) => words.job.dialogs.changeText,
    command: (id, { changes }) => ["muster change", id, ...changeOptions(changes)].join(" "),
    run: (ref, { changes }) =>
      answer(api.POST("/api/v1/jobs/{ref}/change", { ...path(ref), body: readChanges(changes) })),
    isReady: ({ changes }) => linesOf(changes).length > 0 && notChanges(changes).length === 0,
  },
  delete: {
    text: (words) => words.job.dialogs.deleteText,
    command: (id) => `muster delete ${id}`,
    run: async (ref) => {
      await answer(api.DELETE("/api/v1/jobs/{ref}", path(ref)));
      return undefined;
    },
    isDangerous: true,
  },
};

export function ActDialog({ act, job, onClose }: { act: DialogAct; job: Job; onClose: () => void }) {
  const words = useWords();
  const client = useQueryClient();
  const navigate = useNavigate();
  const [fields, setFields] = useState<Fields>({ grace: "", priority: job.priority, to: "", changes: "" });
  const { text, command, run, isReady, isDangerous } = ACTS[act];
  const doing = useMutation({
    mutationFn: () => run(job.id, fields),
    onSuccess: async (changed) => {
      onClose();
      if (act === "delete") {
        client.removeQueries({ queryKey: ["job"] });
        await navigate({ to: "/jobs" });
      } else if (changed && changed.id !== job.id) {
        notifications.show({ message: words.job.dialogs.newJob });
        await navigate({ to: "/jobs/$ref", params: { ref: changed.id } });
      }
      await client.invalidateQueries({ queryKey: ["job"] });
      await client.invalidateQueries({ queryKey: ["jobs"] });
    },
  });
  const change = (changed: Partial<Fields>) => setFields((old) => ({ ...old, ...changed }));
  return (
    <ConfirmDialog
      isOpen
      title={fill(words.job.dialogs[act], { name: job.name })}
      text={text(words, job)}
      commands={[command(job.id, fields)]}
      confirm={words.job.acts[act].replace("…", "")}
      isDangerous={isDangerous ?? false}
      isPending={doing.isPending}
      isReady={isReady?.(fields) ?? true}
      error={doing.error}
      onConfirm={() => doing.mutate()}
      onClose={onClose}
    >
      <ActFields act={act} fields={fields} onChange={change} />
    </ConfirmDialog>
  );
}

interface ActFieldsProps {
  act: DialogAct;
  fields: Fields;
  onChange: (changed: Partial<Fields>) => void;
}

function ActFields({ act, fields, onChange }: ActFieldsProps): ReactNode {
  const words = useWords();
  const { dialogs, facts, priorities } = words.job;
  if (act === "stop") {
    return (
      <TextInput
        label={dialogs.grace}
        value={fields.grace}
        onChange={(event) => onChange({ grace: event.currentTarget.value.trim() })}
      />
    );
  }
  if (act === "bump") {
    return (
      <Select
        label={facts.priority}
        allowDeselect={false}
        data={Object.entries(priorities).map(([value, label]) => ({ value, label }))}
        value={fields.priority}
        onChange={(priority) => onChange({ priority: priority ?? "normal" })}
      />
    );
  }
  if (act === "move") return <Destination value={fields.to} onChange={(to) => onChange({ to })} />;
  if (act === "change") {
    const wrong = notChanges(fields.changes);
    return (
      <Textarea
        label={dialogs.changes}
        autosize
        minRows={3}
        value={fields.changes}
        error={wrong.length > 0 && fill(dialogs.notChanges, { lines: wrong.join(", ") })}
        onChange={(event) => onChange({ changes: event.currentTarget.value })}
      />
    );
  }
  return null;
}

/** The clusters and virtual clusters that the reader may see. */
function Destination({ value, onChange }: { value: string; onChange: (to: string) => void }) {
  const words = useWords();
  const clusters = useQuery(queries.clusters());
  const shares = useQuery(queries.virtualClusters());
  const names = [...(shares.data?.items ?? []), ...(clusters.data?.items ?? [])].map(({ name }) => name);
  return (
    <Select
      label={words.job.dialogs.moveTo}
      data={[...new Set(names)]}
      searchable
      value={value || null}
      onChange={(to) => onChange(to ?? "")}
    />
  );
}
