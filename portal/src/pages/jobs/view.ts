import type { Job } from "@/api/client";
import type { JobQuery } from "@/api/queries";
import type { Sorting } from "@/parts/columns";

/** What the address of the job list says: filter and order, so that every view can be shared. */
export interface JobsView {
  text?: string;
  state?: string[];
  owner?: string;
  cluster?: string;
  vc?: string;
  label?: string[];
  reason?: string;
  since?: string;
  until?: string;
  /** Jobs that were made in the engine of a cluster itself, such as with kubectl. */
  origin?: "others";
  /** Whether members of sweeps are among them: there may be thousands. */
  members?: true;
  sort?: JobSort;
  order?: "asc" | "desc";
}

export const JOB_SORTS = [
  ...(["created", "started", "ended", "priority", "gpus"] as const),
  ...(["name", "owner", "cluster", "vc", "state"] as const),
] as const;
export type JobSort = (typeof JOB_SORTS)[number];
/** What the API lists from the largest unless it is told otherwise. */
const LARGEST_FIRST: readonly JobSort[] = JOB_SORTS.slice(0, 5);

export const JOB_STATES = ["Queued", "Held", "Starting", "Running", "Stopping", "Succeeded", "Failed", "Cancelled"];

/** The states of the quick choices. */
export const QUICK = {
  running: ["Starting", "Running", "Stopping"],
  waiting: ["Queued", "Held"],
  failed: ["Failed"],
} as const;
export type Quick = keyof typeof QUICK;

const TEXTS = ["text", "owner", "cluster", "vc", "reason", "since", "until"] as const;
export const FILTERS = ["text", "state", "owner", "cluster", "vc", "label", "reason", "since", "until"] as const;
export type Filter = (typeof FILTERS)[number];

export function readJobsView(search: Record<string, unknown>): JobsView {
  const view: JobsView = {};
  for (const name of TEXTS) {
    const value = search[name];
    if (typeof value === "string" && value) view[name] = value;
    else if (typeof value === "number") view[name] = String(value);
  }
  const states = textsOf(search.state).filter((state) => JOB_STATES.includes(state));
  if (states.length > 0) view.state = states;
  const labels = textsOf(search.label).filter((label) => label.indexOf("=") > 0);
  if (labels.length > 0) view.label = labels;
  const sort = JOB_SORTS.find((each) => each === search.sort);
  if (sort) view.sort = sort;
  if (search.order === "asc" || search.order === "desc") view.order = search.order;
  if (search.origin === "others") view.origin = "others";
  if (search.members === true) view.members = true;
  return view;
}

const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value]).filter((each): each is string => typeof each === "string" && each !== "");

/** The view as the API takes it. Jobs of others are always listed newest first. */
export function jobQueryOf({ members, ...view }: JobsView): JobQuery {
  if (view.origin !== "others") return { ...view, members: members ? "all" : "none" };
  const query: JobQuery = { ...view };
  delete query.sort;
  delete query.order;
  delete query.reason;
  return query;
}

export function sortingOf(view: JobsView): Sorting {
  const by = view.sort ?? "created";
  return { by, isDescending: view.order ? view.order === "desc" : LARGEST_FIRST.includes(by) };
}

export const isNewestFirst = (view: JobsView): boolean => {
  const sorting = sortingOf(view);
  return sorting.by === "created" && sorting.isDescending;
};

export const isFiltered = (view: JobsView): boolean => FILTERS.some((name) => view[name] !== undefined);

/** Which quick choice the states are; null if they are none of them. */
export function quickOf(view: JobsView): Quick | "all" | null {
  if (!view.state) return "all";
  const chosen = [...view.state].sort().join();
  const found = (Object.keys(QUICK) as Quick[]).find((quick) => [...QUICK[quick]].sort().join() === chosen);
  return found ?? null;
}

/**
 * Whether a job that has just changed belongs to the view. The server decides what is listed; this only decides whether
 * a change appears at once or with the next answer. `null`: only the server can tell.
 */
export function belongs(view: JobsView, job: Job): boolean | null {
  if ((job.origin === "muster") === (view.origin === "others")) return false;
  if (job.sweep && !view.members) return false;
  if (view.state && !view.state.includes(job.state)) return false;
  if (view.owner && job.owner !== view.owner) return false;
  if (view.cluster && job.cluster !== view.cluster) return false;
  if (view.vc && job.vc !== view.vc) return false;
  if (view.label?.some((label) => !hasLabel(job, label))) return false;
  if (view.text && ![job.name, job.owner, job.id].some((each) => each.toLowerCase().includes(view.text!.toLowerCase())))
    return false;
  return view.until || view.reason ? null : true;
}

function hasLabel(job: Job, label: string): boolean {
  const at = label.indexOf("=");
  return job.labels[label.slice(0, at)] === label.slice(at + 1);
}
