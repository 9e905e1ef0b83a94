import { Button, CopyButton, Group, SegmentedControl, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { Comparison } from "./Comparison";
import { Sources } from "./Sources";
import classes from "./Spec.module.css";
import { yamlOf } from "./yamlText";
import type { TabProps } from "../JobPage";
import { queries } from "@/api/queries";
import { Command } from "@/parts/Command";
import { Loading, ProblemBox } from "@/parts/feedback";
import { obstacleOf } from "@/parts/StaleNotice";
import { CopyIcon } from "@/parts/icons";
import { useWords } from "@/words/language";

const route = getRouteApi("/jobs/$ref");

/** The spec as it was written, as it takes effect, and against that of another job. */
export function SpecTab({ reference, job }: TabProps) {
  const words = useWords();
  const w = words.job.spec;
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/jobs/$ref" });
  const found = useQuery(queries.jobSpec(reference));
  const shown = view.spec ?? "written";
  const obstacle = obstacleOf(found);
  if (obstacle) return <ProblemBox error={obstacle} onRetry={() => void found.refetch()} />;
  if (!found.data) return <Loading />;
  const text = shown === "written" ? found.data.yaml : yamlOf(found.data.spec);
  return (
    <Stack gap="xs">
      <Group gap="xs">
        <SegmentedControl
          aria-label={w.view}
          data={(["written", "effective", "diff"] as const).map((value) => ({ value, label: w[value] }))}
          value={shown}
          onChange={(spec) => void navigate({ search: (old) => ({ ...old, spec }), replace: true })}
        />
        {shown !== "diff" && (
          <CopyButton value={text}>
            {({ copied, copy }) => (
              <Button variant="default" leftSection={<CopyIcon />} onClick={copy}>
                {copied ? words.common.copied : words.common.copy}
              </Button>
            )}
          </CopyButton>
        )}
      </Group>
      {shown === "diff" ? (
        <Comparison reference={reference} />
      ) : (
        // eslint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so the keyboard must reach it
        <pre className={classes.text} tabIndex={0} aria-label={w[shown]}>
          {text}
        </pre>
      )}
      {shown === "effective" && <Sources found={found.data} />}
      {shown !== "diff" && <Command line={`muster describe ${job.id} -o yaml`} />}
    </Stack>
  );
}
