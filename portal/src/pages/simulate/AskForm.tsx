import { Button, Group, Paper, Select, Stack, Switch, Text } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import {
  bodyOf,
  clusterWithGpus,
  DURATIONS,
  modelsOf,
  MOST_VARIANTS,
  PREEMPTIONS,
  simCommand,
  SINCES,
  type Asked,
} from "./asking";
import { VariantFields } from "./VariantFields";
import { answer, api } from "@/api/client";
import { queries } from "@/api/queries";
import { Command } from "@/parts/Command";
import { EmptyState, ProblemBox } from "@/parts/feedback";
import { PlusIcon } from "@/parts/icons";
import { useWords } from "@/words/language";

const FIRST: Asked = {
  cluster: "",
  since: "7d",
  onlyOwn: false,
  durations: "unknown",
  preemption: "0",
  variants: [{ policy: "default", model: "", more: 0 }],
};

export function AskForm() {
  const words = useWords();
  const client = useQueryClient();
  const navigate = useNavigate({ from: "/simulate" });
  const clusters = useQuery(queries.clusters());
  const nodes = useQuery(queries.nodes());
  const [form, setForm] = useState(FIRST);
  const names = clusters.data?.items.map((cluster) => cluster.name) ?? [];
  const isKnown = !clusters.isPending && !nodes.isPending; // before, a choice would be replaced under the reader's hand
  const asked = { ...form, cluster: form.cluster || (isKnown ? clusterWithGpus(nodes.data?.items ?? [], names) : "") };
  const set = (change: Partial<Asked>) => setForm({ ...form, ...change });
  const starting = useMutation({
    mutationFn: () => answer(api.POST("/api/v1/simulations", { body: bodyOf(asked) })),
    onSuccess: (made) => {
      void client.invalidateQueries({ queryKey: ["simulations"], exact: true });
      void navigate({ search: { id: made.id } });
    },
  });
  if (clusters.data && names.length === 0) return <EmptyState title={words.simulate.noCluster} />;
  return (
    <Paper withBorder p="sm" component="section" aria-label={words.simulate.variants}>
      <Stack gap="xs">
        <Group gap="xs" align="end">
          <Select
            label={words.simulate.cluster}
            data={names}
            value={asked.cluster}
            onChange={(value) => value && set({ cluster: value })}
            allowDeselect={false}
            w={150}
          />
          <Select
            label={words.simulate.since}
            data={SINCES.map((value) => ({ value, label: words.simulate.sinces[value] }))}
            value={form.since}
            onChange={(value) => value && set({ since: value })}
            allowDeselect={false}
            w={120}
          />
          <Select
            label={words.simulate.durations}
            data={DURATIONS.map((value) => ({ value, label: words.simulate.durationKinds[value] }))}
            value={form.durations}
            onChange={(value) => value && set({ durations: value })}
            allowDeselect={false}
            w={170}
          />
          <Select
            label={words.simulate.preemption}
            data={PREEMPTIONS.map((value) => ({ value, label: words.simulate.preemptions[value] }))}
            value={form.preemption}
            onChange={(value) => value && set({ preemption: value })}
            allowDeselect={false}
            w={220}
          />
          <Switch
            label={words.simulate.onlyOwn}
            checked={form.onlyOwn}
            onChange={(event) => set({ onlyOwn: event.currentTarget.checked })}
            mb={4}
          />
        </Group>
        <Text size="xs" fw={600}>
          {words.simulate.variants}
        </Text>
        {form.variants.map((variant, index) => (
          <VariantFields
            key={index}
            number={index + 1}
            variant={variant}
            models={modelsOf(nodes.data?.items ?? [], asked.cluster)}
            onChange={(changed) => set({ variants: form.variants.map((old, at) => (at === index ? changed : old)) })}
            onRemove={
              form.variants.length > 1
                ? () => set({ variants: form.variants.filter((_, at) => at !== index) })
                : undefined
            }
          />
        ))}
        <Group gap="xs">
          <Button loading={starting.isPending} disabled={!asked.cluster} onClick={() => starting.mutate()}>
            {words.simulate.start}
          </Button>
          {form.variants.length < MOST_VARIANTS && (
            <Button
              variant="default"
              leftSection={<PlusIcon />}
              onClick={() => set({ variants: [...form.variants, { policy: "fair", model: "", more: 0 }] })}
            >
              {words.simulate.addVariant}
            </Button>
          )}
        </Group>
        {starting.error && <ProblemBox error={starting.error} />}
        <Command line={simCommand(asked)} />
        <Text size="xs" className="soft">
          {words.simulate.gpusOnly}
        </Text>
      </Stack>
    </Paper>
  );
}
