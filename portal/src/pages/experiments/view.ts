import type { Schemas } from "@/api/client";
import type { RunQuery } from "@/api/queries";
import type { Sorting } from "@/parts/columns";
import { quoted } from "@/parts/Command";
import { numberOf, type Value } from "@/parts/plots/scales";

export type Run = Schemas["RunOut"];

/** What the address of the experiments says: filter, order, and how they are shown. */
export interface ExperimentsView {
  text?: string;
  owner?: string;
  state?: string;
  sweep?: string;
  since?: string;
  label?: string[];
  /** Conditions on parameters, such as lr<0.1, and on last values of metrics, such as acc>=0.9. */
  param?: string[];
  having?: string[];
  sort?: string;
  order?: "asc" | "desc";
  /** Which value of a metric counts. */
  use?: Use;
  /** As lines over axes and not as a table. */
  show?: "parallel";
  /** The metrics that are axes then. */
  metric?: string[];
}

export const USES = ["last", "highest", "lowest"] as const;
export type Use = (typeof USES)[number];
export const MOST_RUNS = 1_000;
const TEXTS = ["text", "owner", "state", "sweep", "since", "sort"] as const;
const LISTS = ["label", "param", "having", "metric"] as const;

export function readExperimentsView(search: Record<string, unknown>): ExperimentsView {
  const view: ExperimentsView = {};
  for (const name of TEXTS) {
    const value = search[name];
    if ((typeof value === "string" && value) || typeof value === "number") view[name] = String(value);
  }
  for (const name of LISTS) {
    const values = textsOf(search[name]);
    if (values.length > 0) view[name] = values;
  }
  if (search.order === "asc" || search.order === "desc") view.order = search.order;
  const use = USES.find((each) => each === search.use);
  if (use) view.use = use;
  if (search.show === "parallel") view.show = "parallel";
  return view;
}

/** The jobs of a comparison, and the metric whose curves are shown. */
export interface CompareView {
  job?: string[];
  metric?: string;
  /** Lines that are the same in all of them, too. */
  all?: boolean;
}

export function readCompareView(search: Record<string, unknown>): CompareView {
  const view: CompareView = {};
  const jobs = textsOf(search.job);
  if (jobs.length > 0) view.job = jobs;
  if ((typeof search.metric === "string" && search.metric) || typeof search.metric === "number")
    view.metric = String(search.metric);
  if (search.all === true) view.all = true;
  return view;
}

/** Names and ids may look like numbers. */
const textsOf = (value: unknown): string[] =>
  (Array.isArray(value) ? value : [value])
    .filter((each) => typeof each === "string" || typeof each === "number")
    .map(String)
    .filter(Boolean);

export function runQueryOf(view: ExperimentsView): RunQuery {
  const { text, owner, state, sweep, since, label, param, having } = view;
  const given = { text, owner, state, sweep, since, label, param, having };
  const known = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { ...known, limit: MOST_RUNS };
}

/** The fields of conditions, in the order in which the server reads them. */
const CONDITIONS = ["label", "param", "having"] as const;
export type ConditionField = (typeof CONDITIONS)[number];

/** The field with the condition that the server names in its refusal. */
export const refusedField = (view: ExperimentsView, message: string): ConditionField | undefined =>
  CONDITIONS.find((name) => view[name]?.some((text) => message.includes(`'${text}'`) || message.includes(`"${text}"`)));

/** The options of `muster history` that choose the same jobs. */
export function optionsOf(view: ExperimentsView): string {
  const names = ["text", "owner", "state", "sweep", "since", "label", "param", "having"] as const;
  return names.flatMap((name) => [view[name] ?? []].flat().map((value) => ` --${name} ${quoted(value)}`)).join("");
}

export const metricOf = (run: Run, name: string, use: Use): Value | null => run.metrics[name]?.[use] ?? null;

/** The names of what runs have, in order. */
type Named = "params" | "metrics" | "tags" | "env" | "environment";

export const namesOf = (runs: readonly Run[], kind: Named): string[] =>
  [...new Set(runs.flatMap((run) => Object.keys(run[kind])))].sort();

/** The parameters that are not the same in all runs. */
export const differing = (runs: readonly Run[]): string[] =>
  namesOf(runs, "params").filter((name) => new Set(runs.map((run) => run.params[name])).size > 1);

export function sortingOf(view: ExperimentsView): Sorting {
  return { by: view.sort ?? "submitted", isDescending: (view.order ?? (view.sort ? "asc" : "desc")) === "desc" };
}

const PARAM = "param.";
const METRIC = "metric.";
export const paramColumn = (name: string): string => PARAM + name;
export const metricColumn = (name: string): string => METRIC + name;

const FACTS: Readonly<Record<string, (run: Run) => Value | null>> = {
  name: (run) => run.name,
  state: (run) => run.state,
  owner: (run) => run.owner,
  cluster: (run) => run.cluster,
  submitted: (run) => Date.parse(run.submittedAt),
  ran: (run) => run.ranS,
  gpuHours: (run) => run.gpuHours,
  cost: (run) => run.cost,
  peakMemory: (run) => run.peakMemoryBytes,
};

/** Runs in the order of a column. Those without a value come last, whichever way it goes. */
export function sorted(runs: readonly Run[], { by, isDescending }: Sorting, use: Use): Run[] {
  const valueOf = valueBy(by, use);
  const known = runs.filter((run) => valueOf(run) !== null);
  const order = known.sort((one, other) => compared(valueOf(one), valueOf(other)));
  return [...(isDescending ? order.reverse() : order), ...runs.filter((run) => valueOf(run) === null)];
}

function valueBy(by: string, use: Use): (run: Run) => Value | null {
  if (by.startsWith(PARAM)) return (run) => run.params[by.slice(PARAM.length)] ?? null;
  if (by.startsWith(METRIC)) return (run) => metricOf(run, by.slice(METRIC.length), use);
  return FACTS[by] ?? (() => null);
}

/** Numbers come before texts. */
function compared(one: Value | null, other: Value | null): number {
  const [a, b] = [numberOf(one), numberOf(other)];
  if (a !== null && b !== null) return a - b;
  if (a !== null || b !== null) return a !== null ? -1 : 1;
  return String(one).localeCompare(String(other));
}
