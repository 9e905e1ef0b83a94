import { Chip, Group, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";

import { type Model } from "./view";
import { queries } from "@/api/queries";
import { useIsAdmin, useMe } from "@/app/session";
import { bytesText } from "@/parts/amounts";
import { Command } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Listing, type Part } from "@/parts/Listing";
import { valueText, type Value } from "@/parts/plots/scales";
import { Ago } from "@/parts/Time";
import { useWords } from "@/words/language";

const route = getRouteApi("/models");
const EVERYBODY = "*";

/** Outputs that were kept under a name: the newest version of each, and where it comes from. */
export function ModelsPage() {
  const words = useWords();
  const w = words.models;
  const { owner } = route.useSearch();
  const { user } = useMe();
  const isAdmin = useIsAdmin();
  const navigate = useNavigate({ from: "/models" });
  const models = useQuery(queries.models(owner));
  const parts: Part<Model>[] = [
    {
      label: w.name,
      cell: (model) => (
        <Link
          className="link"
          to="/models/$name"
          params={{ name: model.name }}
          search={model.owner === user ? {} : { owner: model.owner }}
        >
          {model.name}
        </Link>
      ),
    },
    { label: w.version, cell: (model) => model.version, isNumber: true },
    ...(owner ? [{ label: w.owner, cell: (model: Model) => model.owner }] : []),
    { label: w.size, cell: (model) => bytesText(model.sizeBytes), isNumber: true },
    { label: w.job, cell: (model) => model.lineage.job },
    { label: w.params, cell: (model) => paramsText(model.lineage.params) },
    { label: w.registered, cell: (model) => <Ago at={model.createdAt} /> },
    { label: w.description, cell: (model) => model.description },
  ];
  return (
    <Stack gap="sm">
      <Title order={1} size="h3">
        {w.title}
      </Title>
      <Group gap={8}>
        {isAdmin && (
          <Chip
            size="xs"
            checked={owner === EVERYBODY}
            onChange={(isOn) => void navigate({ search: isOn ? { owner: EVERYBODY } : {}, replace: true })}
          >
            {w.allUsers}
          </Chip>
        )}
        <Command line={`muster model list${owner === EVERYBODY ? " --all-users" : ""}`} />
      </Group>
      <div>
        <Text size="xs" className="soft">
          {w.registerHow}
        </Text>
        <Command line="muster model register JOB:PATH NAME" />
      </div>
      {models.error && <ProblemBox error={models.error} onRetry={() => void models.refetch()} />}
      {models.isPending && <Loading />}
      {models.data?.items.length === 0 && <EmptyState title={w.none} />}
      {!!models.data?.items.length && (
        <Listing label={w.title} parts={parts} rows={models.data.items} keyOf={(model) => model.id} />
      )}
    </Stack>
  );
}

export const paramsText = (params: Readonly<Record<string, unknown>>): string =>
  Object.entries(params)
    .map(([name, value]) => `${name}=${valueText(value as Value)}`)
    .join(", ");
