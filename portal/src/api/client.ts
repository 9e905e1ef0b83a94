import createClient, { type Middleware } from "openapi-fetch";

import { live } from "./live";
import type { components, paths } from "./schema";

export type Schemas = components["schemas"];
export type Job = Schemas["JobOut"];
export type Task = Schemas["TaskOut"];
export type Node = Schemas["NodeOut"];
export type Cluster = Schemas["ClusterOut"];
export type VirtualCluster = Schemas["VirtualClusterOut"];
export type JobEvent = Schemas["EventOut"];
export type Problem = Schemas["ProblemOut"];

const PART_OF_REQUEST = /^(body|path|query)(\.|$)/;

/** What the server refused, in its own words: `message` says what, `hint` what to do next. */
export class ApiProblem extends Error {
  constructor(
    readonly status: number,
    readonly problem: Partial<Problem>,
  ) {
    super(problem.detail ?? problem.title ?? `HTTP ${status}`);
  }

  get hint(): string {
    return this.problem.hint ?? "";
  }

  /** Each with its place in what was filled in, and not with the part of the request that it came in. */
  get problems(): Schemas["ProblemItem"][] {
    return (this.problem.problems ?? []).map((each) => ({ ...each, path: each.path.replace(PART_OF_REQUEST, "") }));
  }
}

/** The server did not answer at all. */
export class Unreachable extends Error {}

/** Whether the same question may be answered a little later: nothing about it was refused. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ApiProblem && (error.status === 429 || error.status >= 500));

const guard: Middleware = {
  onRequest({ request }) {
    // Forms of other sites cannot send this header, so the server trusts the session cookie with it.
    if (request.method !== "GET") request.headers.set("X-Muster-Request", "1");
    return request;
  },
  async onResponse({ response }) {
    live.heard(Number(response.headers.get("Muster-Last-Event")));
    if (response.ok) return;
    const problem = (await response.json().catch(() => ({}))) as Partial<Problem>;
    throw new ApiProblem(response.status, problem);
  },
  onError({ error }) {
    return error instanceof ApiProblem ? error : new Unreachable();
  },
};

declare global {
  interface Window {
    /** What `public/start.js` has asked for before this code was loaded, by address. */
    earlyAnswers?: Map<string, Promise<Response>>;
  }
}

/** An answer that was asked for early is taken once. Where it is none, perhaps before a login, it is asked for again. */
async function fetched(request: Request): Promise<Response> {
  const early = request.method === "GET" ? window.earlyAnswers?.get(request.url) : undefined;
  if (!early) return fetch(request);
  window.earlyAnswers?.delete(request.url);
  const answer = await early.catch(() => null);
  return answer?.ok ? answer : fetch(request);
}

export const api = createClient<paths>({ baseUrl: "/", credentials: "same-origin", fetch: fetched });
api.use(guard);

/** The answer itself; everything that is not an answer is thrown as `ApiProblem` or `Unreachable`. */
export async function answer<T>(call: Promise<{ data?: T }>): Promise<T> {
  return (await call).data as T;
}
