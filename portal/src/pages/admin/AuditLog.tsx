import { Button, Group, Select, Text, TextInput } from "@mantine/core";
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";

import { aboutText } from "./entries";
import { SINCES, type AdminView } from "./view";
import type { JobEvent } from "@/api/client";
import { queries } from "@/api/queries";
import { timeText } from "@/parts/amounts";
import { useDraft } from "@/parts/draft";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Listing, type Part } from "@/parts/Listing";
import { AUDIT_KINDS, auditText } from "@/words/audit";
import { useLanguage } from "@/words/language";

const route = getRouteApi("/admin");

/** Who did what, the newest first. */
export function AuditLog() {
  const { language, words } = useLanguage();
  const { actor, kind, since } = route.useSearch();
  const navigate = useNavigate({ from: "/admin" });
  const show = (change: Partial<Record<"actor" | "kind" | "since", string | undefined>>) =>
    void navigate({ search: (old) => ({ ...old, ...change }) as AdminView, replace: true });
  const audit = useInfiniteQuery(
    queries.audit({ limit: 100, ...(actor && { actor }), ...(kind && { kind }), ...(since && { since }) }),
  );
  const [actorDraft, typeActor] = useDraft(actor ?? "", (value) => show({ actor: value || undefined }));
  const events = audit.data?.pages.flatMap((page) => page.items) ?? [];
  const parts: Part<JobEvent>[] = [
    { label: words.admin.when, cell: (event) => timeText(language, event.at) },
    { label: words.admin.actor, cell: (event) => event.actor ?? "–" },
    { label: words.admin.act, cell: (event) => <Act kind={kindOf(event)} /> },
    { label: words.admin.about, cell: (event) => aboutText(event.data, event.jobId) },
  ];
  return (
    <>
      <Group gap="xs" mb="xs">
        <TextInput
          aria-label={words.admin.actor}
          placeholder={words.admin.actor}
          value={actorDraft}
          onChange={(event) => typeActor(event.currentTarget.value)}
          data-page-search
        />
        <Select
          aria-label={words.admin.act}
          placeholder={words.admin.act}
          data={kindsWith(kind).map((value) => ({ value, label: auditText(language, value) }))}
          value={kind ?? null}
          onChange={(value) => show({ kind: value ?? undefined })}
          searchable
          clearable
          w={260}
        />
        <Select
          aria-label={words.admin.since}
          placeholder={words.admin.sinceAny}
          data={SINCES.map((value) => ({ value, label: words.admin.sinces[value] }))}
          value={since ?? null}
          onChange={(value) => show({ since: value ?? undefined })}
          clearable
        />
      </Group>
      {audit.error && <ProblemBox error={audit.error} onRetry={() => void audit.refetch()} />}
      {audit.isPending && <Loading />}
      {audit.data && events.length === 0 && (
        <EmptyState title={words.admin.noAudit}>
          {(actor ?? kind ?? since) && (
            <Button variant="default" onClick={() => show({ actor: undefined, kind: undefined, since: undefined })}>
              {words.jobs.clear}
            </Button>
          )}
        </EmptyState>
      )}
      {events.length > 0 && (
        <Listing label={words.admin.tabs.audit} parts={parts} rows={events} keyOf={(event) => String(event.seq)} />
      )}
      {audit.hasNextPage && (
        <Button mt="xs" variant="default" loading={audit.isFetching} onClick={() => void audit.fetchNextPage()}>
          {words.admin.searchedFurther}
        </Button>
      )}
    </>
  );
}

const kindOf = (event: JobEvent): string => event.kind.replace(/^audit\./, "");

/** All kinds, and what the address says if it is none of them: the beginning of several, such as `node.`. */
const kindsWith = (kind: string | undefined): string[] =>
  kind && !AUDIT_KINDS.includes(kind) ? [kind, ...AUDIT_KINDS] : [...AUDIT_KINDS];

/** What was done, in the reader's language; its name in the API is its title. */
function Act({ kind }: { kind: string }) {
  const { language } = useLanguage();
  return (
    <Text size="sm" span title={kind}>
      {auditText(language, kind)}
    </Text>
  );
}
