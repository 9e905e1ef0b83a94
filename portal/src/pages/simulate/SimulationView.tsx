import { Alert, Button, Group, Paper, Progress, Stack, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";

import { Result } from "./Result";
import { answer, api } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayDoAll } from "@/app/session";
import { timeText } from "@/parts/amounts";
import { Loading, ProblemBox } from "@/parts/feedback";
import { fill, plural, useLanguage } from "@/words/language";

/** One simulation: how far it is, and then its curves. */
export function SimulationView({ id }: { id: string }) {
  const { language, words } = useLanguage();
  const client = useQueryClient();
  const navigate = useNavigate({ from: "/simulate" });
  const mayRemove = useMayDoAll();
  const simulation = useQuery(queries.simulation(id));
  const state = simulation.data?.state;
  useEffect(() => {
    if (state) void client.invalidateQueries({ queryKey: ["simulations"], exact: true });
  }, [client, state]);
  const removing = useMutation({
    mutationFn: () =>
      answer(api.DELETE("/api/v1/simulations/{simulation_id}", { params: { path: { simulation_id: id } } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["simulations"], exact: true });
      void navigate({ search: {} });
    },
  });
  if (simulation.error) return <ProblemBox error={simulation.error} />;
  if (!simulation.data) return <Loading />;
  const { asked, jobs, running, progress, error, isCut, result } = simulation.data;
  const percent = Math.round(progress * 100);
  return (
    <Paper withBorder p="sm" component="section" aria-label={words.simulate.figures}>
      <Stack gap="sm">
        <Group justify="space-between" gap="xs">
          <Text size="sm">
            {asked.cluster} · {plural(language, words.simulate.jobsOf, jobs)}
            {running > 0 && ` (${fill(words.simulate.stillRun, { n: running })})`} · {timeText(language, asked.since)} –{" "}
            {timeText(language, asked.until)}
          </Text>
          {mayRemove && (
            <Button variant="default" loading={removing.isPending} onClick={() => removing.mutate()}>
              {state === "running" ? words.simulate.cancel : words.simulate.forget}
            </Button>
          )}
        </Group>
        {removing.error && <ProblemBox error={removing.error} />}
        {isCut && <Alert color="orange" title={words.simulate.cut} p="xs" />}
        {state === "running" && (
          <Group gap="xs" wrap="nowrap">
            <Progress value={percent} flex={1} aria-label={words.simulate.progress} />
            <Text size="xs">{fill(words.simulate.shareOf, { percent })}</Text>
          </Group>
        )}
        {state === "failed" && <Alert color="red" role="alert" title={error} />}
        {result && <Result result={result} />}
      </Stack>
    </Paper>
  );
}
