import { Button, Group, Modal, NumberInput, Select, Stack, Table, Text, Textarea } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { linesOf, notChanges } from "./changes";
import { Reasons, Start } from "./Why";
import type { TabProps } from "../JobPage";
import { queries } from "@/api/queries";
import { Command, quoted } from "@/parts/Command";
import { ProblemBox } from "@/parts/feedback";
import { fill, useWords } from "@/words/language";

/** "Start sooner if…": the reasons and the expected start that the job would have with other values. */
export function WhatIfDialog({ reference, job, onClose }: TabProps & { onClose: () => void }) {
  const words = useWords();
  const { dialogs, facts } = words.job;
  const [gpus, setGpus] = useState<number | string>("");
  const [share, setShare] = useState<string | null>(null);
  const [more, setMore] = useState("");
  const [asked, setAsked] = useState<string[]>([]);
  const shares = useQuery(queries.virtualClusters());
  const wrong = notChanges(more);
  const changes = [
    ...(gpus === "" ? [] : [`gpus=${gpus}`]),
    ...(share ? [`vc=${share}`] : []),
    ...linesOf(more).filter((line) => !wrong.includes(line)),
  ];
  const found = useQuery({ ...queries.whatIf(reference, asked), enabled: asked.length > 0 });
  const supposed = found.data?.whatIf;
  return (
    <Modal opened onClose={onClose} title={fill(dialogs.whatIf, { name: job.name })} size="lg">
      <Stack gap="sm">
        <Text size="sm">{dialogs.whatIfText}</Text>
        <Group grow align="end">
          <NumberInput label={facts.gpus} min={0} step={1} value={gpus} onChange={setGpus} />
          <Select
            label={facts.vc}
            clearable
            data={(shares.data?.items ?? []).map(({ name }) => name)}
            value={share}
            onChange={setShare}
          />
        </Group>
        <Textarea
          label={dialogs.whatIfChanges}
          autosize
          minRows={2}
          value={more}
          error={wrong.length > 0 && fill(dialogs.notChanges, { lines: wrong.join(", ") })}
          onChange={(event) => setMore(event.currentTarget.value)}
        />
        <Command line={["muster explain", job.id, ...changes.map((each) => `--what-if ${quoted(each)}`)].join(" ")} />
        <Group justify="flex-end">
          <Button
            disabled={!changes.length || wrong.length > 0}
            loading={found.isFetching}
            onClick={() => setAsked(changes)}
          >
            {dialogs.ask}
          </Button>
        </Group>
        {found.error && <ProblemBox error={found.error} />}
        {supposed && found.data && (
          <Table layout="fixed" aria-live="polite">
            <Table.Thead>
              <Table.Tr>
                <Table.Th>{dialogs.now}</Table.Th>
                <Table.Th>
                  {dialogs.withChanges} ({asked.join(", ")})
                </Table.Th>
              </Table.Tr>
            </Table.Thead>
            <Table.Tbody>
              <Table.Tr>
                {[found.data, supposed].map((answer, index) => (
                  <Table.Td key={index} valign="top">
                    {answer.reasons.length ? (
                      <Reasons reasons={answer.reasons} />
                    ) : (
                      <Text size="sm">{dialogs.atOnce}</Text>
                    )}
                    {answer.reasons.length > 0 && <Start startsAt={answer.startsAt} startsBy={answer.startsBy} />}
                  </Table.Td>
                ))}
              </Table.Tr>
            </Table.Tbody>
          </Table>
        )}
      </Stack>
    </Modal>
  );
}
