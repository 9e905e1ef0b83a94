import { Alert, Group, List, Loader, Modal, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Environment } from "./view";
import { queries } from "@/api/queries";
import { Command, quoted } from "@/parts/Command";
import { ProblemBox } from "@/parts/feedback";
import { fill, plural, useLanguage } from "@/words/language";

/** Imports the frameworks of an environment on each node, and says which GPUs they see. */
export function TestDialog({ environment, onClose }: { environment: Environment; onClose: () => void }) {
  const { language, words } = useLanguage();
  const { name, cluster } = environment;
  const test = useQuery({ ...queries.environmentTest(name, cluster), staleTime: 0, gcTime: 0 });
  return (
    <Modal opened onClose={onClose} title={fill(words.environments.testOf, { name })} size="lg">
      <Stack gap="xs">
        <Command line={`muster env test ${quoted(name)} --cluster ${quoted(cluster)}`} />
        {test.error && <ProblemBox error={test.error} onRetry={() => void test.refetch()} />}
        {test.isFetching && (
          <Group gap="xs" role="status">
            <Loader size="xs" />
            <Text size="sm">{words.environments.asking}</Text>
          </Group>
        )}
        {test.data?.items.map((node) => (
          <Alert
            key={node.node}
            color={node.ok ? "green" : "red"}
            title={`${node.node}: ${node.ok ? words.environments.works : words.environments.fails}`}
          >
            <Text size="sm">
              {`Python ${node.python}`} ·{" "}
              {node.card === null ? words.environments.noCard : fill(words.environments.card, { n: node.card })}
            </Text>
            {node.error && <Text size="sm">{node.error}</Text>}
            <List size="sm">
              {node.frameworks.map((each) => (
                <List.Item key={each.name}>
                  {each.name} {each.version}: {each.ok ? words.environments.works : each.error}
                  {each.gpus !== null && ` · ${plural(language, words.environments.sees, each.gpus)}`}
                </List.Item>
              ))}
            </List>
          </Alert>
        ))}
      </Stack>
    </Modal>
  );
}
