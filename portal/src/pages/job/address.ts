/** What the address of a job's page says besides the job: the tab, and what is chosen in it. */
export const JOB_TABS = ["workers", "logs", "metrics", "timeline", "outputs", "spec", "environment"] as const;
export type JobTab = (typeof JOB_TABS)[number];

export interface JobView {
  tab?: JobTab;
  /** An attempt other than the newest. */
  attempt?: number;
  /** The worker whose log or environment is shown; all of them if absent. */
  worker?: string;
  /** The line of its log to show. */
  line?: number;
  /** The worker of that line, while the logs of all are shown. */
  of?: string;
  /** What is searched for in the logs. */
  q?: string;
  wrap?: boolean;
  times?: boolean;
  /** The filter of the workers. */
  role?: string;
  state?: string;
  /** How the spec is shown, and the job to compare it with. */
  spec?: "written" | "effective" | "diff";
  with?: string;
  /** The folder of the outputs. */
  folder?: string;
}

const SPEC_VIEWS = ["written", "effective", "diff"] as const;

export function readJobView(search: Record<string, unknown>): JobView {
  const view: JobView = {};
  const tab = JOB_TABS.find((each) => each === search.tab);
  const spec = SPEC_VIEWS.find((each) => each === search.spec);
  if (tab) view.tab = tab;
  if (spec) view.spec = spec;
  for (const name of ["attempt", "line"] as const) {
    const number = Number(search[name]);
    if (Number.isInteger(number) && number > 0) view[name] = number;
  }
  for (const name of ["worker", "of", "q", "role", "state", "with", "folder"] as const) {
    const text = search[name];
    if ((typeof text === "string" || typeof text === "number") && text !== "") view[name] = String(text);
  }
  for (const name of ["wrap", "times"] as const) if (search[name] === true) view[name] = true;
  return view;
}

/** The view with some of its parts taken away. */
export function without<K extends keyof JobView>(view: JobView, ...names: K[]): Omit<JobView, K> {
  const left = Object.entries(view).filter(([name]) => !names.includes(name as K));
  return Object.fromEntries(left) as Omit<JobView, K>;
}
