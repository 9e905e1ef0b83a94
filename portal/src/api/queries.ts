import {
  infiniteQueryOptions,
  keepPreviousData,
  queryOptions,
  useMutation,
  useQueryClient,
} from "@tanstack/react-query";

import { answer, api, type Job, type JobEvent, type Schemas } from "./client";
import type { paths } from "./schema";
import type { Language } from "@/words/language";

/** One entry per thing that pages ask for: its key in the cache, and the call. Pages add theirs here. */
export const queries = {
  whoami: () =>
    queryOptions({ queryKey: ["whoami"], queryFn: () => answer(api.GET("/api/v1/whoami")), staleTime: Infinity }),
  loginWays: () => queryOptions({ queryKey: ["login"], queryFn: () => answer(api.GET("/api/v1/login")) }),
  jobs: (query: JobQuery) =>
    queryOptions({
      queryKey: ["jobs", query],
      queryFn: () => answer(api.GET("/api/v1/jobs", { params: { query } })),
      placeholderData: keepPreviousData,
    }),
  /** Page by page. The page that shows it knows itself what to ask for again after a gap in the stream. */
  jobList: (query: JobQuery) =>
    infiniteQueryOptions({
      queryKey: ["jobs", "list", query],
      queryFn: ({ pageParam }) =>
        answer(
          api.GET("/api/v1/jobs", {
            params: { query: { ...query, limit: JOBS_OF_PAGE, ...(pageParam ? { cursor: pageParam } : {}) } },
          }),
        ),
      initialPageParam: "",
      getNextPageParam: (page) => page.nextCursor ?? undefined,
      placeholderData: keepPreviousData,
      meta: { asksItself: true },
    }),
  /** How many there are. An open list goes on counting by itself. */
  jobTotal: (query: JobQuery) => {
    const unordered = { ...query };
    delete unordered.sort;
    delete unordered.order;
    return queryOptions({
      queryKey: ["jobs", "total", unordered],
      queryFn: async (): Promise<JobCount> => {
        const asked = { ...unordered, limit: 1, total: true };
        const { total, items } = await answer(api.GET("/api/v1/jobs", { params: { query: asked } }));
        return { total: total ?? null, newest: items[0]?.createdAt ?? "", counted: new Map() };
      },
      placeholderData: keepPreviousData,
    });
  },
  job: (ref: string) =>
    queryOptions({
      queryKey: ["job", ref],
      queryFn: () => answer(api.GET("/api/v1/jobs/{ref}", { params: { path: { ref } } })),
    }),
  tasks: (ref: string, attempt?: string) =>
    queryOptions({
      queryKey: ["job", ref, "tasks", attempt ?? ""],
      queryFn: () =>
        answer(api.GET("/api/v1/jobs/{ref}/tasks", { params: { path: { ref }, query: attempt ? { attempt } : {} } })),
    }),
  explanation: (ref: string) =>
    queryOptions({
      queryKey: ["job", ref, "explain"],
      queryFn: () => answer(api.GET("/api/v1/jobs/{ref}/explain", { params: { path: { ref } } })),
    }),
  whatIf: (ref: string, changes: string[]) =>
    queryOptions({
      queryKey: ["job", ref, "what-if", changes],
      queryFn: () =>
        answer(api.GET("/api/v1/jobs/{ref}/explain", { params: { path: { ref }, query: { what_if: changes } } })),
      retry: false,
    }),
  /** It opens the page once, so it is asked for anew each time. */
  pageLink: (ref: string, port: number, path: string) =>
    queryOptions({
      queryKey: ["job", ref, "page", port, path],
      queryFn: () => answer(api.POST("/api/v1/jobs/{ref}/page", { params: { path: { ref } }, body: { port, path } })),
      staleTime: Infinity,
      gcTime: 0,
      retry: false,
    }),
  jobEvents: (ref: string) => queryOptions({ queryKey: ["job", ref, "events"], queryFn: () => allEvents(ref) }),
  jobSpec: (ref: string) =>
    queryOptions({
      queryKey: ["job", ref, "spec"],
      queryFn: () => answer(api.GET("/api/v1/jobs/{ref}/spec", { params: { path: { ref } } })),
    }),
  specDiff: (ref: string, other: string) =>
    queryOptions({
      queryKey: ["job", ref, "diff", other],
      queryFn: () => answer(api.GET("/api/v1/jobs/{ref}/diff", { params: { path: { ref }, query: { with: other } } })),
      retry: false,
    }),
  taskEnvironment: (ref: string, task: string, attempt: number) =>
    queryOptions({
      queryKey: ["job", ref, "environment", task, attempt],
      queryFn: () =>
        answer(
          api.GET("/api/v1/jobs/{ref}/tasks/{task}/environment", {
            params: { path: { ref, task }, query: { attempt } },
          }),
        ),
    }),
  jobUsage: (ref: string) =>
    queryOptions({
      queryKey: ["job", ref, "usage"],
      queryFn: () => answer(api.GET("/api/v1/jobs/{ref}/usage", { params: { path: { ref } } })),
    }),
  jobHistory: (ref: string, attempt: number, workers: string[]) =>
    queryOptions({
      queryKey: ["job", ref, "history", attempt, workers],
      queryFn: () =>
        answer(
          api.GET("/api/v1/jobs/{ref}/usage/history", {
            params: { path: { ref }, query: { attempt, points: 360, ...(workers.length > 0 && { worker: workers }) } },
          }),
        ),
      placeholderData: keepPreviousData,
    }),
  outputs: (ref: string, attempt?: number) =>
    queryOptions({
      queryKey: ["job", ref, "outputs", attempt ?? 0],
      queryFn: () =>
        answer(api.GET("/api/v1/jobs/{ref}/outputs", { params: { path: { ref }, query: attempt ? { attempt } : {} } })),
    }),
  users: () => queryOptions({ queryKey: ["users"], queryFn: () => answer(api.GET("/api/v1/users")) }),
  clusters: () => queryOptions({ queryKey: ["clusters"], queryFn: () => answer(api.GET("/api/v1/clusters")) }),
  nodes: () => queryOptions({ queryKey: ["nodes"], queryFn: () => answer(api.GET("/api/v1/nodes")) }),
  node: (name: string, cluster: string | undefined) =>
    queryOptions({
      queryKey: ["nodes", name, cluster ?? ""],
      queryFn: () =>
        answer(api.GET("/api/v1/nodes/{name}", { params: { path: { name }, query: cluster ? { cluster } : {} } })),
    }),
  nodeUsage: (name: string, cluster: string) =>
    queryOptions({
      queryKey: ["nodes", name, cluster, "usage"],
      queryFn: () => answer(api.GET("/api/v1/nodes/{name}/usage", { params: { path: { name }, query: { cluster } } })),
    }),
  schedule: (since: string, cluster: string | undefined) =>
    queryOptions({
      queryKey: ["schedule", since, cluster ?? ""],
      queryFn: () =>
        answer(api.GET("/api/v1/schedule", { params: { query: cluster ? { since, cluster } : { since } } })),
      placeholderData: keepPreviousData,
    }),
  virtualClusters: () =>
    queryOptions({ queryKey: ["virtual-clusters"], queryFn: () => answer(api.GET("/api/v1/virtual-clusters")) }),
  quotas: () =>
    queryOptions({
      queryKey: ["quotas"],
      queryFn: () => answer(api.GET("/api/v1/quotas", { params: { query: { user: "me" } } })),
    }),
  queue: (query: QueueQuery = {}) =>
    queryOptions({
      queryKey: ["queue", query],
      queryFn: () => answer(api.GET("/api/v1/queue", { params: { query: { ...query, limit: 1000 } } })),
      placeholderData: keepPreviousData,
    }),
  /** When waiting jobs are likely to start, by the id of the job; those of which nothing is known are not there. */
  expectedStarts: () =>
    queryOptions({
      queryKey: ["schedule", "expected"],
      queryFn: () => answer(api.GET("/api/v1/schedule", { params: { query: { since: "1s", limit: 1 } } })),
      select: (found) => new Map(found.expected.map((each) => [each.job, each.from])),
      staleTime: 10_000,
    }),
  report: (by: "vc" | "user", since: string) =>
    queryOptions({
      queryKey: ["report", by, since],
      queryFn: () => answer(api.GET("/api/v1/report", { params: { query: { by, since } } })),
      staleTime: 60_000,
    }),
  specSchema: () =>
    queryOptions({
      queryKey: ["schema"],
      queryFn: () => answer(api.GET("/api/v1/schema")),
      staleTime: Infinity,
    }),
  templates: () =>
    queryOptions({
      queryKey: ["templates"],
      queryFn: () => answer(api.GET("/api/v1/templates", { params: { query: { builtIn: true } } })),
    }),
  template: (name: string, builtIn: boolean) =>
    queryOptions({
      queryKey: ["templates", name, builtIn],
      queryFn: () => answer(api.GET("/api/v1/templates/{name}", { params: { path: { name }, query: { builtIn } } })),
    }),
  folders: (cluster: string) =>
    queryOptions({
      queryKey: ["folders", cluster],
      queryFn: () => answer(api.GET("/api/v1/clusters/{cluster}/files/folders", { params: { path: { cluster } } })),
    }),
  files: ({ cluster, path, node }: { cluster: string; path: string; node?: string | undefined }) =>
    infiniteQueryOptions({
      queryKey: ["files", cluster, path, node ?? ""],
      queryFn: ({ pageParam }) =>
        answer(
          api.GET("/api/v1/clusters/{cluster}/files", {
            params: {
              path: { cluster },
              query: { path, limit: 5000, ...(node ? { node } : {}), ...(pageParam ? { cursor: pageParam } : {}) },
            },
          }),
        ),
      initialPageParam: "",
      getNextPageParam: (last) => last.nextCursor ?? undefined,
    }),
  environments: () =>
    queryOptions({ queryKey: ["environments"], queryFn: () => answer(api.GET("/api/v1/environments")) }),
  environmentPackages: (name: string, cluster: string) =>
    queryOptions({
      queryKey: ["environments", cluster, name, "packages"],
      queryFn: () => answer(api.GET("/api/v1/environments:packages", { params: { query: { name, cluster } } })),
    }),
  environmentTest: (name: string, cluster: string) =>
    queryOptions({
      queryKey: ["environments", cluster, name, "test"],
      queryFn: () => answer(api.POST("/api/v1/environments:test", { body: { name, cluster, node: null } })),
    }),
  myAlerts: () =>
    queryOptions({
      queryKey: ["alerts", "mine"],
      queryFn: () => answer(api.GET("/api/v1/alerts", { params: { query: { mine: true, limit: 20 } } })),
    }),
  alerts: () => queryOptions({ queryKey: ["alerts", "all"], queryFn: () => answer(api.GET("/api/v1/alerts")) }),
  /** Of rules, also those that have not lasted long enough yet. No event tells of them. */
  ruleAlerts: (language: Language) =>
    queryOptions({
      queryKey: ["alerts", "rules", language],
      queryFn: () => answer(api.GET("/api/v1/alerts/firing", { params: { query: { pending: true, language } } })),
      refetchInterval: RULE_ALERTS_REFRESH_MS,
    }),
  identities: (name: string) =>
    queryOptions({
      queryKey: ["users", name, "identities"],
      queryFn: () => answer(api.GET("/api/v1/users/{name}/identities", { params: { path: { name } } })),
    }),
  /** Of one user, or of everybody for admins. */
  tokens: (user: string | undefined) =>
    queryOptions({
      queryKey: ["tokens", user ?? ""],
      queryFn: () => answer(api.GET("/api/v1/tokens", { params: { query: user ? { user } : {} } })),
    }),
  secrets: () => queryOptions({ queryKey: ["secrets"], queryFn: () => answer(api.GET("/api/v1/secrets")) }),
  /** For admins: the limits of one user, or all. */
  quotasOf: (user?: string) =>
    queryOptions({
      queryKey: ["quotas", "of", user ?? ""],
      queryFn: () => answer(api.GET("/api/v1/quotas", { params: { query: user ? { user } : {} } })),
      placeholderData: keepPreviousData,
    }),
  clusterFiles: () =>
    queryOptions({ queryKey: ["cluster-files"], queryFn: () => answer(api.GET("/api/v1/cluster-files")) }),
  clusterFile: (name: string) =>
    queryOptions({
      queryKey: ["cluster-files", name],
      queryFn: () => answer(api.GET("/api/v1/cluster-files/{name}", { params: { path: { name } } })),
      staleTime: Infinity, // what is being edited stays; a version of somebody else is refused by its digest
    }),
  audit: (query: AuditQuery) =>
    infiniteQueryOptions({
      queryKey: ["audit", query],
      queryFn: ({ pageParam }) =>
        answer(
          api.GET("/api/v1/audit", { params: { query: { ...query, ...(pageParam ? { before: pageParam } : {}) } } }),
        ),
      initialPageParam: "",
      getNextPageParam: (page) => page.nextCursor ?? undefined,
      placeholderData: keepPreviousData,
    }),
  serverLog: () =>
    queryOptions({
      queryKey: ["server-log"],
      queryFn: async () =>
        (await answer(api.GET("/api/v1/server/log", { params: { query: { tail: 500 } } }))) as Schemas["ServerLogPage"],
      staleTime: Infinity, // what is logged later is told by the live stream
    }),
  health: () => queryOptions({ queryKey: ["health"], queryFn: () => answer(api.GET("/api/v1/server/health")) }),
  runs: (query: RunQuery) =>
    queryOptions({
      queryKey: ["runs", query],
      queryFn: () => answer(api.GET("/api/v1/experiments", { params: { query } })),
      placeholderData: keepPreviousData,
    }),
  /** What a job has reported: of its newest attempt if none is named, and only one metric if that is named. */
  jobMetrics: (ref: string, attempt?: number, name?: string) =>
    queryOptions({
      queryKey: ["job", ref, "metrics", attempt ?? 0, name ?? ""],
      queryFn: () =>
        answer(
          api.GET("/api/v1/jobs/{ref}/metrics", {
            params: { path: { ref }, query: { ...(attempt && { attempt }), ...(name && { name: [name] }) } },
          }),
        ),
    }),
  sweeps: (query: SweepQuery) =>
    infiniteQueryOptions({
      queryKey: ["sweeps", "list", query],
      queryFn: ({ pageParam }) =>
        answer(
          api.GET("/api/v1/sweeps", { params: { query: { ...query, ...(pageParam ? { cursor: pageParam } : {}) } } }),
        ),
      initialPageParam: "",
      getNextPageParam: (page) => page.nextCursor ?? undefined,
      placeholderData: keepPreviousData,
      refetchInterval: (query) =>
        query.state.data?.pages.some((page) => page.items.some(isOpen)) ? SWEEP_REFRESH_MS : false,
    }),
  sweep: (ref: string) =>
    queryOptions({
      queryKey: ["sweeps", "one", ref],
      queryFn: () => answer(api.GET("/api/v1/sweeps/{ref}", { params: { path: { ref } } })),
      refetchInterval: (query) => (query.state.data && isOpen(query.state.data) ? SWEEP_REFRESH_MS : false),
    }),
  /**
   * All of them. No event tells of values that members report, so they are asked for while the sweep is open, and once
   * more when it has ended: the key is another one then.
   */
  sweepMembers: (ref: string, isLive: boolean) =>
    queryOptions({
      queryKey: ["sweeps", "members", ref, isLive],
      queryFn: () => allMembers(ref),
      placeholderData: (before, query) => (query?.queryKey[2] === ref ? before : undefined),
      refetchInterval: (query) =>
        isLive ? SWEEP_REFRESH_MS * Math.max(Math.ceil((query.state.data?.length ?? 0) / MEMBERS_OF_PAGE), 1) : false,
    }),
  models: (owner: string | undefined) =>
    queryOptions({
      queryKey: ["models", owner ?? ""],
      queryFn: () => answer(api.GET("/api/v1/models", { params: { query: owner ? { owner } : {} } })),
    }),
  modelVersions: (name: string, owner: string | undefined) =>
    queryOptions({
      queryKey: ["models", owner ?? "", name],
      queryFn: () => answer(api.GET("/api/v1/models", { params: { query: { name, ...(owner && { owner }) } } })),
    }),
  model: (id: string) =>
    queryOptions({
      queryKey: ["models", "one", id],
      queryFn: () => answer(api.GET("/api/v1/models/{ref}", { params: { path: { ref: id } } })),
    }),
  noticeSettings: () =>
    queryOptions({ queryKey: ["notices", "settings"], queryFn: () => answer(api.GET("/api/v1/notices/settings")) }),
  notices: () => queryOptions({ queryKey: ["notices", "sent"], queryFn: () => answer(api.GET("/api/v1/notices")) }),
  simulations: () => queryOptions({ queryKey: ["simulations"], queryFn: () => answer(api.GET("/api/v1/simulations")) }),
  /** No event tells how far a simulation is, so it is asked for while it runs, and only then. */
  simulation: (id: string) =>
    queryOptions({
      queryKey: ["simulations", id],
      queryFn: () =>
        answer(api.GET("/api/v1/simulations/{simulation_id}", { params: { path: { simulation_id: id } } })),
      refetchInterval: (query) => (query.state.data?.state === "running" ? 1_000 : false),
    }),
};

const JOBS_OF_PAGE = 200;
const MEMBERS_OF_PAGE = 1000;
const SWEEP_REFRESH_MS = 3_000;
const RULE_ALERTS_REFRESH_MS = 10_000;

export type RunQuery = NonNullable<paths["/api/v1/experiments"]["get"]["parameters"]["query"]>;
export type SweepQuery = NonNullable<paths["/api/v1/sweeps"]["get"]["parameters"]["query"]>;
export type SweepMember = Schemas["SweepMemberOut"];

const isOpen = (sweep: Schemas["SweepOut"]): boolean => sweep.endedAt === null;

async function allMembers(ref: string): Promise<SweepMember[]> {
  const found: SweepMember[] = [];
  let after: number | null | undefined = 0;
  while (after !== null && after !== undefined) {
    const query = { after, limit: MEMBERS_OF_PAGE };
    const page: Schemas["SweepMemberPage"] = await answer(
      api.GET("/api/v1/sweeps/{ref}/members", { params: { path: { ref }, query } }),
    );
    found.push(...page.items);
    after = page.nextMember;
  }
  return found;
}

export type QueueQuery = Omit<NonNullable<paths["/api/v1/queue"]["get"]["parameters"]["query"]>, "limit">;

export type JobQuery = NonNullable<paths["/api/v1/jobs"]["get"]["parameters"]["query"]>;

export interface JobCount {
  total: number | null;
  /** When the newest of them was made. A job that was made later is not among them. */
  newest: string;
  /** Of jobs that have changed since, whether they are among them now. */
  counted: ReadonlyMap<string, boolean>;
}

const MOST_EVENT_PAGES = 10;

/** The events of a job, oldest first; of very many, the first ones. */
async function allEvents(ref: string): Promise<JobEvent[]> {
  const found: JobEvent[] = [];
  let after = 0;
  for (let page = 0; page < MOST_EVENT_PAGES; page += 1) {
    const query = { after, limit: 1000 };
    const call = api.GET("/api/v1/jobs/{ref}/events", { params: { path: { ref }, query } });
    const { items } = (await answer(call)) as Schemas["EventPage"]; // it can be a stream, too
    found.push(...items);
    if (items.length < 1000) break;
    after = items.at(-1)?.seq ?? after;
  }
  return found;
}

export type AuditQuery = NonNullable<paths["/api/v1/audit"]["get"]["parameters"]["query"]>;

type JobAct = (ref: string) => Promise<Job | undefined>;

const act = (path: "kill" | "hold" | "resume" | "retry"): JobAct => {
  return (ref) => answer(api.POST(`/api/v1/jobs/{ref}/${path}`, { params: { path: { ref } } }));
};

export type Priority = Schemas["Priority"];

export const changePriority = (ref: string, priority: Priority): Promise<Job> =>
  answer(api.POST("/api/v1/jobs/{ref}/bump", { params: { path: { ref } }, body: { priority } }));

export const moveJob = (ref: string, to: string): Promise<Job> =>
  answer(api.POST("/api/v1/jobs/{ref}/move", { params: { path: { ref } }, body: { to } }));

export const jobActs = { kill: act("kill"), hold: act("hold"), resume: act("resume"), retry: act("retry") };

/** An act on jobs, after which what is shown of them is asked for again. */
export function useJobAct(name: keyof typeof jobActs) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: (refs: string[]) => Promise.all(refs.map(jobActs[name])),
    onSettled: () => {
      void client.invalidateQueries({ queryKey: ["jobs"] });
      void client.invalidateQueries({ queryKey: ["job"] });
    },
  });
}
