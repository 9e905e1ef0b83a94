import { Select } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { without } from "./address";
import type { Job } from "@/api/client";
import { fill, useWords } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

/** The attempt that the address names, or the newest. */
export function useAttempt(job: Job): number {
  const { attempt } = route.useSearch();
  return attempt && attempt <= job.attempt ? attempt : Math.max(1, job.attempt);
}

/** Chooses another attempt. Nothing for a job that has only had one. */
export function AttemptSelect({ job }: { job: Job }) {
  const words = useWords();
  const attempt = useAttempt(job);
  const navigate = useNavigate({ from: "/jobs/$ref" });
  if (job.attempt < 2) return null;
  const data = Array.from({ length: job.attempt }, (_, index) => job.attempt - index).map((n) => ({
    value: String(n),
    label: fill(n === job.attempt ? words.job.attempts.current : words.job.attempts.one, { n }),
  }));
  return (
    <Select
      aria-label={words.job.attempts.label}
      w={170}
      allowDeselect={false}
      data={data}
      value={String(attempt)}
      onChange={(chosen) =>
        void navigate({
          search: (old) => ({
            ...without(old, "attempt", "line", "of"),
            ...(Number(chosen) !== job.attempt && { attempt: Number(chosen) }),
          }),
        })
      }
    />
  );
}
