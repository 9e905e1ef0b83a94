import { answer, api, type Job, type Schemas } from "@/api/client";
import type { ChosenFile } from "@/transfer/packing";

export type DryRun = Schemas["DryRunOut"];
export type SweepDryRun = Schemas["SweepDryRunOut"];

/** What would be started, of a sweep for its first member. */
export interface Checked {
  run: DryRun;
  sweep: SweepDryRun | null;
}

export const isSweep = (spec: Record<string, unknown> | null): boolean => spec?.sweep !== undefined;

/** What is sent: the text as its author wrote it, and the package that was uploaded. */
export interface Submission {
  source: string;
  package: string | null;
}

const DIGEST = /^[0-9a-f]{64}$/;
const ON_CLUSTER = /^[A-Za-z0-9][A-Za-z0-9._@-]+(\/[^/:]+)?:/;

/** The folder beside the job file that the job needs, if it names one: it is to be chosen, for a browser has no folder. */
export function wantedFolder(spec: Record<string, unknown> | null): string | null {
  const named = spec?.package;
  if (typeof named !== "string" || !named || DIGEST.test(named) || ON_CLUSTER.test(named)) return null;
  return named;
}

/** The files of a template that are in the folder that its job names. */
export function filesIn(folder: string, files: Readonly<Record<string, string>>): ChosenFile[] {
  const inner = folder.replace(/^\.\/?/, "").replace(/\/+$/, "");
  const start = inner ? `${inner}/` : "";
  return Object.entries(files)
    .filter(([path]) => path.startsWith(start))
    .map(([path, text]) => ({ path: path.slice(start.length), file: new File([text], path) }));
}

/** Whether the job names data beside its file, which only the command line can send. */
export function hasLocalInputs(spec: Record<string, unknown> | null): boolean {
  const inputs = spec?.inputs;
  const all: unknown[] = Array.isArray(inputs) ? inputs : inputs ? [inputs] : [];
  return all.some((each) => {
    const source: unknown = typeof each === "object" && each !== null ? (each as { source?: unknown }).source : each;
    return typeof source === "string" && !DIGEST.test(source.split("/")[0] ?? "");
  });
}

/** A dry run needs no files, as on the command line. */
export function dryRunBody(submission: Submission, spec: Record<string, unknown> | null): Schemas["SubmitIn"] {
  const set: Record<string, unknown> = {};
  if (wantedFolder(spec) !== null && !submission.package) set.package = null;
  if (hasLocalInputs(spec)) set.inputs = [];
  return { ...bodyOf(submission), set };
}

const bodyOf = (submission: Submission): Schemas["SubmitIn"] => ({
  spec: null,
  source: submission.source,
  package: submission.package,
  inputs: null,
});

export async function dryRun(submission: Submission, spec: Record<string, unknown> | null): Promise<Checked> {
  const asked = { params: { query: { dryRun: true } }, body: dryRunBody(submission, spec) };
  if (isSweep(spec)) {
    const sweep = (await answer(api.POST("/api/v1/sweeps", asked))) as SweepDryRun;
    return { run: sweep.run, sweep };
  }
  return { run: (await answer(api.POST("/api/v1/jobs", asked))) as unknown as DryRun, sweep: null };
}

/** Answers the id. The key makes a repeated call answer what the first one has made. */
export async function submitJob(submission: Submission, key: string): Promise<string> {
  const body = bodyOf(submission);
  return ((await answer(api.POST("/api/v1/jobs", { ...keyed(key), body }))) as Job).id;
}

export async function submitSweep(submission: Submission, key: string): Promise<string> {
  const body = bodyOf(submission);
  return ((await answer(api.POST("/api/v1/sweeps", { ...keyed(key), body }))) as Schemas["SweepOut"]).id;
}

const keyed = (key: string) => ({ params: { header: { "idempotency-key": key } } });

export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (each) => each.toString(16)).join("-");
