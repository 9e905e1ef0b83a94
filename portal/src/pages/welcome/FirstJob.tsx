import { Button, Group, Select, Text } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { firstJob, firstJobCommand } from "./commands";
import { answer, api, type Job } from "@/api/client";
import { queries } from "@/api/queries";
import { Command } from "@/parts/Command";
import { ProblemBox } from "@/parts/feedback";
import { fill, useWords } from "@/words/language";

/** Submits a job that any machine can run, and goes to its page. */
export function FirstJob() {
  const words = useWords();
  const navigate = useNavigate();
  const clusters = useQuery(queries.clusters());
  const [chosen, setChosen] = useState<string | null>(null);
  const names = clusters.data?.items.map((cluster) => cluster.name) ?? [];
  const bySsh = clusters.data?.items.find((cluster) => cluster.backend === "ssh")?.name;
  const cluster = chosen ?? bySsh ?? names[0];
  const submitting = useMutation({
    mutationFn: (where: string) => submitted(where),
    onSuccess: (job) => void navigate({ to: "/jobs/$ref", params: { ref: job.id } }),
  });
  if (!cluster) return <Text size="sm">{words.welcome.jobNone}</Text>;
  return (
    <>
      <Text size="sm">{words.welcome.jobWhy}</Text>
      <Group gap="xs" align="end">
        <Select
          label={words.jobs.cluster}
          data={names}
          value={cluster}
          onChange={setChosen}
          allowDeselect={false}
          w={160}
        />
        <Button loading={submitting.isPending} onClick={() => submitting.mutate(cluster)}>
          {fill(words.welcome.jobRun, { cluster })}
        </Button>
      </Group>
      {submitting.error && <ProblemBox error={submitting.error} />}
      <Command line={firstJobCommand(cluster)} />
    </>
  );
}

async function submitted(cluster: string): Promise<Job> {
  const body = { spec: firstJob(cluster), source: null, package: null, inputs: null };
  const made = await answer(api.POST("/api/v1/jobs", { body }));
  return "job" in made ? made.job : made;
}
