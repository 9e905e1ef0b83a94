import { answer, api, type Job, type Schemas } from "@/api/client";
import type { ChosenFile } from "@/transfer/packing";

export type DryRun = Schemas["DryRunOut"];

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

export const dryRun = async (submission: Submission, spec: Record<string, unknown> | null): Promise<DryRun> =>
  (await answer(
    api.POST("/api/v1/jobs", { params: { query: { dryRun: true } }, body: dryRunBody(submission, spec) }),
  )) as unknown as DryRun;

/** The key makes a repeated call answer the job of the first one. */
export const submit = async (submission: Submission, key: string): Promise<Job> =>
  (await answer(
    api.POST("/api/v1/jobs", { params: { header: { "idempotency-key": key } }, body: bodyOf(submission) }),
  )) as Job;

export const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint32Array(4)), (each) => each.toString(16)).join("-");
