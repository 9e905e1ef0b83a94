import { ActionIcon, Button, Switch, Tooltip } from "@mantine/core";
import { notifications } from "@mantine/notifications";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { firstError, searching } from "./firstError";
import { plainText } from "./folding";
import type { FoundLine } from "./LogSearch";
import { workerOf } from "../naming";
import { answer, api, type Job } from "@/api/client";
import { queries } from "@/api/queries";
import { CopyIcon, DownloadIcon, WarningIcon } from "@/parts/icons";
import { visible } from "@/visible/visible";
import { plural, useLanguage } from "@/words/language";

const route = getRouteApi("/jobs/$ref");
const COPIED_LINES = 5_000;

interface LogToolsProps {
  reference: string;
  job: Job;
  attempt: number;
  /** Those whose logs are on the screen. */
  workers: string[];
  /** Null while all workers are shown. */
  worker: string | null;
  isFollowing: boolean;
  /** Whether nothing will be printed any more. */
  isOver: boolean;
  onFollow: (follow: boolean) => void;
  onGoTo: (line: FoundLine) => void;
}

/** What can be done with the shown log. */
export function LogTools(props: LogToolsProps) {
  const { reference, job, attempt, workers, worker, isFollowing, isOver, onFollow, onGoTo } = props;
  const { language, words } = useLanguage();
  const w = words.job.logs;
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const client = useQueryClient();
  const finding = useMutation({
    mutationFn: async () => {
      const why = await client.query(queries.explanation(reference)).catch(() => null);
      const faulty = why?.fault?.task ? workerOf(job.name, why.fault.task) : null;
      const evidence = attempt === job.attempt && (!worker || worker === faulty) ? (why?.evidence ?? []) : [];
      const searched = worker ?? (evidence.length ? faulty : null);
      return firstError(searching(reference, attempt, searched), workers, evidence);
    },
    onSuccess: (line) => (line ? onGoTo(line) : notifications.show({ message: w.noError })),
    onError: (error) => notifications.show({ message: error.message, color: "red" }),
  });
  const copying = useMutation({
    mutationFn: async () => {
      const query = { worker: worker ?? "", attempt, from: -COPIED_LINES, count: COPIED_LINES };
      const { lines } = await answer(
        api.GET("/api/v1/jobs/{ref}/logs/lines", { params: { path: { ref: reference }, query } }),
      );
      await navigator.clipboard.writeText(lines.map((line) => visible(plainText(line.text))).join("\n"));
      return lines.length;
    },
    onSuccess: (count) => notifications.show({ message: plural(language, w.copiedLines, count) }),
    onError: (error) => notifications.show({ message: error.message, color: "red" }),
  });
  const toggle = (name: "wrap" | "times") =>
    void navigate({
      search: (old) => {
        const { [name]: was, ...rest } = old;
        return was ? rest : { ...rest, [name]: true };
      },
      replace: true,
    });
  const raw = `/api/v1/jobs/${encodeURIComponent(reference)}/logs/raw?task=${encodeURIComponent(worker ?? "")}&attempt=${attempt}`;
  return (
    <>
      <Button
        variant="default"
        leftSection={<WarningIcon />}
        loading={finding.isPending}
        onClick={() => finding.mutate()}
      >
        {w.firstError}
      </Button>
      <Switch label={w.wrap} checked={view.wrap ?? false} onChange={() => toggle("wrap")} />
      <Switch label={w.times} checked={view.times ?? false} onChange={() => toggle("times")} />
      {worker && (
        <>
          <Tooltip label={w.copy}>
            <ActionIcon aria-label={w.copy} loading={copying.isPending} onClick={() => copying.mutate()}>
              <CopyIcon />
            </ActionIcon>
          </Tooltip>
          <Tooltip label={w.download}>
            <ActionIcon component="a" aria-label={w.download} href={raw} download={`${job.name}-${worker}.log`}>
              <DownloadIcon />
            </ActionIcon>
          </Tooltip>
        </>
      )}
      <Button
        variant={isFollowing && !isOver ? "light" : "default"}
        aria-pressed={isFollowing}
        onClick={() => onFollow(true)}
        ml="auto"
      >
        {isFollowing && !isOver ? w.following : w.toEnd}
      </Button>
    </>
  );
}
