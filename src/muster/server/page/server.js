// Calls the public API with the rights of the user.

import { word } from "./words.js";

export const API = "/api/v1";

export class Refused extends Error {
  constructor(status, problem) {
    super([problem.detail || problem.title || `HTTP ${status}`, problem.hint].filter(Boolean).join(" — "));
    this.status = status;
  }
}

export async function call(path, { method = "GET", body } = {}) {
  const headers = { Accept: "application/json" };
  if (method !== "GET") headers["X-Muster-Request"] = "1";
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let answer;
  try {
    answer = await fetch(API + path, { method, headers, body: body && JSON.stringify(body), credentials: "same-origin" });
  } catch {
    throw new Refused(0, { detail: word("unreachable") });
  }
  if (answer.ok) return answer.status === 204 ? null : answer.json();
  throw new Refused(answer.status, await answer.json().catch(() => ({})));
}

export const jobPath = (ref) => `/jobs/${encodeURIComponent(ref)}`;

// Runs the action at most once at a time, and once more if it was triggered while it ran.
export function coalesced(action, delay) {
  let running = false;
  let again = false;
  let timer = 0;
  async function run() {
    timer = 0;
    if (running) {
      again = true;
      return;
    }
    running = true;
    try {
      await action();
    } finally {
      running = false;
      if (again) {
        again = false;
        trigger();
      }
    }
  }
  function trigger() {
    if (!timer) timer = setTimeout(run, delay);
  }
  return trigger;
}
