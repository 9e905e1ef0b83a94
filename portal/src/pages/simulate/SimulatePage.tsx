import { Group, Stack, Text, Title } from "@mantine/core";
import { getRouteApi } from "@tanstack/react-router";

import { AskForm } from "./AskForm";
import { Runs } from "./Runs";
import { SimulationView } from "./SimulationView";
import { useMayDoAll } from "@/app/session";
import { useWords } from "@/words/language";

const route = getRouteApi("/simulate");

/** Replays what ran, under another policy or with more GPUs. The address names the simulation that is shown. */
export function SimulatePage() {
  const words = useWords();
  const mayAsk = useMayDoAll();
  const { id } = route.useSearch();
  return (
    <Stack gap="sm">
      <Group gap="sm">
        <Title order={1} size="h3">
          {words.simulate.title}
        </Title>
        <Text size="sm" className="soft">
          {words.simulate.lead}
        </Text>
      </Group>
      {mayAsk && <AskForm />}
      {id && <SimulationView key={id} id={id} />}
      <Runs />
    </Stack>
  );
}
