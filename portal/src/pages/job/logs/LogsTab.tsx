import { Select } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { LogPane } from "./LogPane";
import { without } from "../address";
import { AttemptSelect, useAttempt } from "../AttemptSelect";
import type { TabProps } from "../JobPage";
import { workerName } from "../naming";
import { queries } from "@/api/queries";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { obstacleOf } from "@/parts/StaleNotice";
import { named, useWords } from "@/words/language";

const route = getRouteApi("/jobs/$ref");
const ALL = " "; // no worker has this name

/** The logs of one worker, or of all of them merged. */
export function LogsTab({ reference, job }: TabProps) {
  const words = useWords();
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const attempt = useAttempt(job);
  const tasks = useQuery(queries.tasks(reference, attempt === job.attempt ? undefined : String(attempt)));
  const obstacle = obstacleOf(tasks);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={() => void tasks.refetch()} />;
  if (!tasks.data) return <Loading />;
  const items = tasks.data.items.filter((task) => task.attempt === attempt);
  if (!items.length) return <EmptyState title={words.job.logs.notStarted} />;
  const names = items.map(workerName);
  const chosen = view.worker && names.includes(view.worker) ? view.worker : undefined;
  const workers = chosen ? [chosen] : names;
  const choice = (
    <>
      {names.length > 1 && (
        <Select
          aria-label={words.job.logs.worker}
          w={190}
          searchable
          allowDeselect={false}
          data={[
            { value: ALL, label: words.job.logs.all },
            ...items.map((task) => ({
              value: workerName(task),
              label: `${workerName(task)} · ${named(words.states, task.state)}`,
            })),
          ]}
          value={chosen ?? ALL}
          onChange={(worker) =>
            void navigate({
              search: (old) => ({
                ...without(old, "worker", "line", "of"),
                ...(worker && worker !== ALL && { worker }),
              }),
            })
          }
        />
      )}
      <AttemptSelect job={job} />
    </>
  );
  return (
    <LogPane
      key={`${attempt} ${workers.join()}`}
      job={job}
      reference={reference}
      attempt={attempt}
      workers={workers}
      isAll={!chosen && names.length > 1}
      choice={choice}
    />
  );
}
