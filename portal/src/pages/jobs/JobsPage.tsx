import { Button, Group, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useMutation, useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

import { BulkActs } from "./BulkActs";
import { FIRST_COLUMNS, JobCard, useJobColumns, type JobColumn } from "./columns";
import { allJobs, csvOf, download } from "./csv";
import { FirstJob } from "./FirstJob";
import { FilterFields, QuickChips, SearchField, type ChangeView } from "./JobFilters";
import { useJobList } from "./useJobList";
import { belongs, FILTERS, isFiltered, jobQueryOf, readJobsView, sortingOf, type JobsView } from "./view";
import type { Job } from "@/api/client";
import { queries } from "@/api/queries";
import { useNamedOwner } from "@/app/ownName";
import { useMe } from "@/app/session";
import { ColumnChooser } from "@/parts/ColumnChooser";
import { useColumns, type Sorting } from "@/parts/columns";
import { DataTable } from "@/parts/DataTable";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { FilterPills, type ActiveFilter } from "@/parts/FilterPills";
import { DownloadIcon } from "@/parts/icons";
import { PageFrame } from "@/parts/PageFrame";
import { useSelection } from "@/parts/selection";
import { timeText } from "@/parts/amounts";
import { named, plural, useLanguage } from "@/words/language";

const route = getRouteApi("/jobs");
const keyOf = (job: Job) => job.id;
const nameOf = (job: Job) => job.name;

/** All jobs that the reader may see: filtered, sorted, live, and with what can be done with several of them. */
export function JobsPage() {
  const { language, words } = useLanguage();
  const me = useMe();
  const navigate = useNavigate({ from: "/jobs" });
  const change: ChangeView = useCallback(
    (part) => void navigate({ search: (old) => readJobsView({ ...old, ...part }), replace: true }),
    [navigate],
  );
  const view = useNamedOwner(route.useSearch(), change);
  const [hasFields, fields] = useDisclosure(hasMore(view));
  const { list, jobs, total, beginning, newCount, showNew, onScrolled, onNearEnd } = useJobList(view);
  const all = useJobColumns();
  const columns = useColumns<Job>("jobs", all, FIRST_COLUMNS);
  const selection = useSelection(useMemo(() => jobs.map(keyOf), [jobs]));
  const clear = () => void navigate({ search: view.origin ? { origin: view.origin } : {} });
  const onSort = ({ by, isDescending }: Sorting) => change({ sort: by, order: isDescending ? "desc" : "asc" });
  const owners = useMemo(() => [...new Set([me.user, ...jobs.map((job) => job.owner)])].sort(), [me.user, jobs]);
  const chosen = jobs.filter((job) => selection.keys.has(job.id));
  const isFaded = useCallback((job: Job) => belongs(view, job) === false, [view]);
  return (
    <PageFrame
      title={words.jobs.title}
      tools={
        <>
          <Text size="sm" className="soft" role="status">
            {total === undefined ? "" : plural(language, words.jobs.total, total)}
          </Text>
          <CsvButton view={view} columns={columns.shown as JobColumn[]} />
          <ColumnChooser all={all} columns={columns} />
        </>
      }
    >
      <Group gap={10}>
        <QuickChips view={view} change={change} />
        <SearchField view={view} change={change} />
        <Button variant={hasFields ? "light" : "default"} aria-expanded={hasFields} onClick={fields.toggle}>
          {words.jobs.filters}
        </Button>
      </Group>
      {hasFields && <FilterFields view={view} change={change} owners={owners} />}
      <FilterPills filters={useActiveFilters(view, change)} onClear={clear} />
      {chosen.length > 0 && <BulkActs jobs={chosen} onDone={selection.clear} />}
      {newCount > 0 && (
        <Button variant="light" size="compact-sm" onClick={showNew} role="status">
          {plural(language, words.jobs.newJobs, newCount)}
        </Button>
      )}
      {list.error && <ProblemBox error={list.error} onRetry={() => void list.refetch()} />}
      {list.isPending && <Loading />}
      {list.isSuccess && jobs.length === 0 && <NoJobs view={view} change={change} onClear={clear} />}
      {jobs.length > 0 && (
        <DataTable
          label={words.jobs.title}
          columns={columns.shown}
          rows={jobs}
          keyOf={keyOf}
          nameOf={nameOf}
          total={total}
          sorting={sortingOf(view)}
          onSort={view.origin === "others" ? undefined : onSort}
          selection={view.origin === "others" ? undefined : selection}
          onOpen={(job) => void navigate({ to: "/jobs/$ref", params: { ref: job.id } })}
          onNearEnd={onNearEnd}
          onScrolled={onScrolled}
          beginning={beginning}
          card={(job) => <JobCard job={job} />}
          isFaded={isFaded}
        />
      )}
    </PageFrame>
  );
}

/** Whether the address has filters that only the fields show. */
const hasMore = (view: JobsView): boolean =>
  [view.cluster, view.vc, view.label, view.reason, view.since, view.until, view.origin].some(Boolean);

function useActiveFilters(view: JobsView, change: ChangeView): ActiveFilter[] {
  const { language, words } = useLanguage();
  const labels: Record<(typeof FILTERS)[number], string> = {
    text: words.common.search,
    state: words.jobs.state,
    owner: words.jobs.owner,
    cluster: words.jobs.cluster,
    vc: words.jobs.vc,
    label: words.jobs.labels,
    reason: words.jobs.reason,
    since: words.jobs.from,
    until: words.jobs.until,
  };
  const shown = (name: (typeof FILTERS)[number], value: string): string => {
    if (name === "state") return named(words.states, value);
    if (name !== "since" && name !== "until") return value;
    return named(words.jobs.ages, Number.isNaN(Date.parse(value)) ? value : timeText(language, value));
  };
  return FILTERS.flatMap((name) => {
    const value = view[name];
    if (value === undefined) return [];
    const values = typeof value === "string" ? [value] : value;
    return values.map((each) => ({
      id: `${name} ${each}`,
      label: labels[name],
      value: shown(name, each),
      onRemove: () => change({ [name]: typeof value === "string" ? undefined : values.filter((one) => one !== each) }),
    }));
  });
}

/** None at all leads to the first job; none that matches, to members of sweeps that do, or to a list without the filter. */
function NoJobs({ view, change, onClear }: { view: JobsView; change: ChangeView; onClear: () => void }) {
  const { language, words } = useLanguage();
  const mayHide = !view.members && view.origin !== "others";
  const hidden = useQuery({ ...queries.jobTotal({ ...jobQueryOf(view), members: "only" }), enabled: mayHide });
  if (mayHide && hidden.isPending) return <Loading />;
  const count = mayHide ? (hidden.data?.total ?? 0) : 0;
  if (count > 0) {
    return (
      <EmptyState title={plural(language, words.jobs.hiddenMembers, count)}>
        <Button variant="default" onClick={() => change({ members: true })}>
          {words.jobs.listMembers}
        </Button>
      </EmptyState>
    );
  }
  if (isFiltered(view)) {
    return (
      <EmptyState title={words.jobs.noMatch}>
        <Button variant="default" onClick={onClear}>
          {words.jobs.clear}
        </Button>
      </EmptyState>
    );
  }
  if (view.origin === "others") return <EmptyState title={words.jobs.noOthers} />;
  return <FirstJob />;
}

function CsvButton({ view, columns }: { view: JobsView; columns: JobColumn[] }) {
  const { words } = useLanguage();
  const work = useMutation({
    mutationFn: async () => download("jobs.csv", csvOf(columns, await allJobs(jobQueryOf(view)))),
  });
  return (
    <>
      {work.error && <ProblemBox error={work.error} />}
      <Button variant="default" leftSection={<DownloadIcon />} loading={work.isPending} onClick={() => work.mutate()}>
        {words.jobs.csv}
      </Button>
    </>
  );
}
