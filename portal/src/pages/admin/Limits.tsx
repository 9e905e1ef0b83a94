import { Anchor, Group, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";

import { fileOf, limitAmounts, limitName } from "./limits";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { Command, quoted } from "@/parts/Command";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Listing, type Part } from "@/parts/Listing";
import { useLanguage, useWords } from "@/words/language";

type Quota = Schemas["QuotaOut"];

const route = getRouteApi("/admin");

/** Every limit in force, or those of one user: what is used of it, which jobs wait because of it, and where it is set. */
export function Limits() {
  const { words } = useLanguage();
  const { user } = route.useSearch();
  const quotas = useQuery(queries.quotasOf(user));
  return (
    <>
      <Group gap="md" mb="xs" align="end">
        <WhoseLimits />
        <Command line={user ? `muster get quota --user ${quoted(user)}` : "muster get quota"} />
      </Group>
      {quotas.error && <ProblemBox error={quotas.error} onRetry={() => void quotas.refetch()} />}
      {quotas.isPending && <Loading />}
      {quotas.data && <LimitList quotas={quotas.data.items} />}
      <Text size="xs" className="soft" mt="xs">
        {words.admin.whereLimitsAreSet}
      </Text>
    </>
  );
}

function WhoseLimits() {
  const words = useWords();
  const { user } = route.useSearch();
  const navigate = useNavigate({ from: "/admin" });
  const users = useQuery(queries.users());
  return (
    <Select
      label={words.admin.whoseLimits}
      placeholder={words.admin.everybodys}
      data={users.data?.items.map(({ name }) => name) ?? []}
      value={user ?? null}
      onChange={(value) => void navigate({ search: { tab: "limits", ...(value && { user: value }) }, replace: true })}
      searchable
      clearable
      w={220}
    />
  );
}

function LimitList({ quotas }: { quotas: Quota[] }) {
  const { language, words } = useLanguage();
  if (quotas.length === 0) return <EmptyState title={words.admin.noLimits} />;
  const parts: Part<Quota>[] = [
    { label: words.admin.scopeOfLimit, cell: (quota) => quota.vc || words.admin.wholeServer },
    { label: words.admin.user, cell: (quota) => quota.user ?? words.admin.everybody },
    { label: words.admin.limit, cell: (quota) => limitName(words, quota.kind) },
    {
      label: words.admin.used,
      isNumber: true,
      cell: (quota) => limitAmounts(language, quota),
    },
    {
      label: words.admin.waiting,
      cell: (quota) => (quota.waiting === 0 ? "–" : `${quota.waiting}: ${quota.jobs.join(", ")}`),
    },
    { label: words.admin.setIn, cell: (quota) => <SetIn quota={quota} /> },
  ];
  return (
    <Listing
      label={words.admin.tabs.limits}
      parts={parts}
      rows={quotas}
      keyOf={(quota) => `${quota.vc} ${quota.user ?? ""} ${quota.kind}`}
    />
  );
}

/** The file that says the limit; that of a cluster is edited here. */
function SetIn({ quota }: { quota: Quota }) {
  const words = useWords();
  const files = useQuery(queries.clusterFiles());
  const place = quota.vc || quota.kind.split("/")[1];
  if (!place) return <code>{words.admin.settingsFile}</code>;
  const file = fileOf(place, files.data?.items ?? []);
  return (
    <Anchor
      size="sm"
      renderRoot={(props) => <Link {...props} to="/admin" search={{ tab: "files", ...(file && { file }) }} />}
    >
      {file ?? words.admin.tabs.files}
    </Anchor>
  );
}
