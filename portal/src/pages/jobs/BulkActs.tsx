import { Button, Group, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type ComponentType } from "react";

import { ACTS, commandsOf, doAll, fits, type Act, type Refusal } from "./acts";
import { ApiProblem, type Job } from "@/api/client";
import { jobActs } from "@/api/queries";
import { mayChange, useMe } from "@/app/session";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { PauseIcon, PlayIcon, RetryIcon, StopIcon } from "@/parts/icons";
import { plural, useLanguage } from "@/words/language";

const ICONS: Record<Act, ComponentType> = { kill: StopIcon, hold: PauseIcon, resume: PlayIcon, retry: RetryIcon };

/** What can be done with the selected jobs. Only acts that suit one of them are shown. */
export function BulkActs({ jobs, onDone }: { jobs: Job[]; onDone: () => void }) {
  const { language, words } = useLanguage();
  const me = useMe();
  const [act, setAct] = useState<Act | null>(null);
  const own = jobs.filter((job) => mayChange(me, job));
  return (
    <Group gap={6}>
      <Text size="sm" fw={600}>
        {plural(language, words.table.selected, jobs.length)}
      </Text>
      {ACTS.filter((each) => own.some((job) => fits(each, job))).map((each) => {
        const Icon = ICONS[each];
        const count = own.filter((job) => fits(each, job)).length;
        return (
          <Button key={each} variant="default" leftSection={<Icon />} onClick={() => setAct(each)}>
            {words.acts[each]} {count < jobs.length ? `(${count})` : ""}
          </Button>
        );
      })}
      <Button variant="subtle" onClick={onDone}>
        {words.table.unselect}
      </Button>
      {act && (
        <ActDialog
          act={act}
          jobs={own.filter((job) => fits(act, job))}
          onClose={() => setAct(null)}
          onDone={() => {
            setAct(null);
            onDone();
          }}
        />
      )}
    </Group>
  );
}

interface ActDialogProps {
  act: Act;
  jobs: Job[];
  onClose: () => void;
  onDone: () => void;
}

/** Asks before jobs are stopped, held, resumed or submitted again. What was refused stays on the screen. */
export function ActDialog({ act, jobs, onClose, onDone }: ActDialogProps) {
  const { language, words } = useLanguage();
  const client = useQueryClient();
  const [refused, setRefused] = useState<Refusal[]>([]);
  const [asked] = useState(jobs); // the list goes on changing below
  const work = useMutation({
    mutationFn: () => doAll(refused.length > 0 ? refused.map((each) => each.job) : asked, jobActs[act]),
    onSuccess: (found) => {
      setRefused(found);
      void client.invalidateQueries({ queryKey: ["job"] });
      void client.invalidateQueries({ queryKey: ["queue"] });
      if (found.length === 0) onDone();
    },
  });
  return (
    <ConfirmDialog
      isOpen
      title={plural(language, words.acts.titles[act], asked.length, { name: asked[0]?.name ?? "" })}
      text={words.acts.texts[act]}
      commands={commandsOf(
        act,
        asked.map((job) => job.id),
      )}
      confirm={words.acts[act]}
      isDangerous={act === "kill"}
      isPending={work.isPending}
      error={work.error}
      onConfirm={() => work.mutate()}
      onClose={onClose}
    >
      {refused.map(({ job, error }) => (
        <Text key={job.id} size="sm" c="red" role="alert">
          {job.name}: {error instanceof ApiProblem ? `${error.message} ${error.hint}` : words.common.unreachable}
        </Text>
      ))}
    </ConfirmDialog>
  );
}
