import { Group, Loader, Modal, Stack, Table, Text, TextInput, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import type { Environment } from "./view";
import { queries } from "@/api/queries";
import { Command, quoted } from "@/parts/Command";
import { ProblemBox } from "@/parts/feedback";
import { fill, useWords } from "@/words/language";

/** What is installed in an environment, on each node that has it. */
export function PackagesDialog({ environment, onClose }: { environment: Environment; onClose: () => void }) {
  const words = useWords();
  const { name, cluster } = environment;
  const list = useQuery(queries.environmentPackages(name, cluster));
  const [text, setText] = useState("");
  return (
    <Modal opened onClose={onClose} title={fill(words.environments.packagesOf, { name })} size="lg">
      <Stack gap="xs">
        <Command line={`muster env packages ${quoted(name)} --cluster ${quoted(cluster)}`} />
        <TextInput
          type="search"
          aria-label={words.environments.findPackage}
          placeholder={words.environments.findPackage}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
        />
        {list.error && <ProblemBox error={list.error} onRetry={() => void list.refetch()} />}
        {list.isPending && (
          <Group gap="xs" role="status">
            <Loader size="xs" />
            <Text size="sm">{words.environments.asking}</Text>
          </Group>
        )}
        {list.data?.items.map((node) => (
          <section key={node.node} aria-label={node.node}>
            <Title order={3} size="h6">
              {node.node} <span className="soft">{`Python ${node.python}`}</span>
            </Title>
            {node.error && <Text size="sm">{node.error}</Text>}
            <Table>
              <Table.Thead>
                <Table.Tr>
                  <Table.Th>{words.environments.name}</Table.Th>
                  <Table.Th>{words.environments.version}</Table.Th>
                  <Table.Th>{words.environments.source}</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {node.packages
                  .filter((each) => each.name.toLowerCase().includes(text.toLowerCase()))
                  .map((each) => (
                    <Table.Tr key={`${each.source} ${each.name}`}>
                      <Table.Td>{each.name}</Table.Td>
                      <Table.Td>{each.version}</Table.Td>
                      <Table.Td>{each.source}</Table.Td>
                    </Table.Tr>
                  ))}
              </Table.Tbody>
            </Table>
          </section>
        ))}
      </Stack>
    </Modal>
  );
}
