import { Alert, Button, Group, Select, Table, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { PackagesDialog } from "./PackagesDialog";
import { TestDialog } from "./TestDialog";
import { matches, readEnvironmentsView, type Environment, type EnvironmentsView } from "./view";
import { queries } from "@/api/queries";
import { useMayDoAll } from "@/app/session";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { PageFrame } from "@/parts/PageFrame";
import { Scrolled } from "@/parts/Scrolled";
import { named, plural, useLanguage } from "@/words/language";

const route = getRouteApi("/environments");

/** What clusters offer as `runtime`, with the installed versions. */
export function EnvironmentsPage() {
  const { words } = useLanguage();
  const view = route.useSearch();
  const navigate = useNavigate({ from: "/environments" });
  const list = useQuery(queries.environments());
  const [tested, setTested] = useState<Environment | null>(null);
  const change = (part: Record<keyof EnvironmentsView, string | null> | Partial<Record<string, string | null>>) =>
    void navigate({ search: (old) => readEnvironmentsView({ ...old, ...part }), replace: true });
  const items = list.data?.items ?? [];
  const shown = items.filter((each) => matches(each, view));
  const opened = items.find((each) => keyOf(each) === view.packages);
  return (
    <PageFrame title={words.environments.title} tools={<Command line="muster env list" />}>
      <Group gap="xs">
        <TextInput
          type="search"
          data-page-search
          aria-label={words.common.search}
          placeholder={words.environments.find}
          value={view.text ?? ""}
          onChange={(event) => change({ text: event.currentTarget.value })}
        />
        <Select
          aria-label={words.environments.cluster}
          placeholder={words.environments.cluster}
          data={[...new Set(items.map((each) => each.cluster))]}
          value={view.cluster ?? null}
          onChange={(cluster) => change({ cluster })}
          clearable
        />
      </Group>
      {list.error && <ProblemBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading />}
      {list.data && list.data.problems.length > 0 && (
        <Alert color="yellow" title={words.environments.problems}>
          {list.data.problems.map((problem) => (
            <Text size="sm" key={problem}>
              {problem}
            </Text>
          ))}
        </Alert>
      )}
      {list.data && items.length === 0 && <EmptyState title={words.environments.none} />}
      {items.length > 0 && shown.length === 0 && (
        <EmptyState title={words.environments.noMatch}>
          <Button variant="default" onClick={() => change({ text: null, cluster: null })}>
            {words.jobs.clear}
          </Button>
        </EmptyState>
      )}
      {shown.length > 0 && (
        <Environments items={shown} onPackages={(one) => change({ packages: keyOf(one) })} onTest={setTested} />
      )}
      {opened && <PackagesDialog environment={opened} onClose={() => change({ packages: null })} />}
      {tested && <TestDialog environment={tested} onClose={() => setTested(null)} />}
    </PageFrame>
  );
}

const keyOf = (each: Environment): string => `${each.cluster}:${each.name}`;

function Environments({
  items,
  onPackages,
  onTest,
}: {
  items: Environment[];
  onPackages: (environment: Environment) => void;
  onTest: (environment: Environment) => void;
}) {
  const { language, words } = useLanguage();
  const mayTest = useMayDoAll();
  return (
    <Scrolled label={words.environments.title}>
      <Table aria-label={words.environments.title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th>{words.environments.name}</Table.Th>
            <Table.Th>{words.environments.kind}</Table.Th>
            <Table.Th>{words.environments.cluster}</Table.Th>
            <Table.Th>{"Python"}</Table.Th>
            <Table.Th>{words.environments.frameworks}</Table.Th>
            <Table.Th>{words.environments.nodes}</Table.Th>
            <Table.Th>{words.environments.acts}</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {items.map((each) => (
            <Table.Tr key={`${keyOf(each)} ${each.nodes.join()}`}>
              <Table.Td title={each.path}>{each.name}</Table.Td>
              <Table.Td>{named(words.environments.kinds, each.kind)}</Table.Td>
              <Table.Td>{each.cluster}</Table.Td>
              <Table.Td>{each.python || "–"}</Table.Td>
              <Table.Td>{frameworksText(each)}</Table.Td>
              <Table.Td title={each.nodes.join(", ")}>
                {plural(language, words.environments.allOf, each.nodes.length)}
              </Table.Td>
              <Table.Td>
                <Group gap={4} wrap="nowrap">
                  <Button variant="default" size="compact-xs" onClick={() => onPackages(each)}>
                    {words.environments.packages}
                  </Button>
                  {mayTest && (
                    <Button variant="default" size="compact-xs" onClick={() => onTest(each)}>
                      {words.environments.test}
                    </Button>
                  )}
                </Group>
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Scrolled>
  );
}

const frameworksText = (each: Environment): string =>
  Object.entries(each.frameworks)
    .map(([name, version]) => `${name} ${version}`)
    .join(", ") || "–";
