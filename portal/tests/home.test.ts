import { QueryClient } from "@tanstack/react-query";
import { afterEach, expect, test, vi } from "vitest";

import type { Job, Schemas, VirtualCluster } from "@/api/client";
import { queries } from "@/api/queries";
import { standingOf, unsilenced, worstFirst, type RuleAlert } from "@/pages/alerts/rule_alerts";
import { subjectOf } from "@/pages/alerts/subjects";
import { endedSince, foldOwn, readLook } from "@/pages/home/mine";
import { readQueueView } from "@/pages/queue/view";
import { fairness } from "@/pages/virtual-clusters/fairness";
import { en } from "@/words/en";

afterEach(() => vi.unstubAllGlobals());

const job = (id: string, state: string, version = 1) => ({ id, state, version }) as Job;
const isOpen = (each: Job) => each.state === "Running";

test("my jobs change in place, new ones come first, and those that ended leave the open ones", () => {
  const old = { items: [job("a", "Running"), job("b", "Running")] };
  const folded = foldOwn(old, [job("b", "Failed", 2), job("c", "Running")], [], isOpen);
  expect(folded.items.map((each) => each.id)).toEqual(["c", "a"]);
});

test("an older version of my job does not replace a newer one", () => {
  const folded = foldOwn({ items: [job("a", "Running", 3)] }, [job("a", "Failed", 2)], [], isOpen);
  expect(folded.items[0]?.version).toBe(3);
});

test("who never looked sees the last day, and a time in the future does not count", () => {
  expect(readLook(null, 100_000_000)).toBe(13_600_000);
  expect(readLook("90000000", 100_000_000)).toBe(90_000_000);
  expect(readLook("900000000", 100_000_000)).toBe(13_600_000);
});

test("failures come first among what ended since then, and what was not asked for is told", () => {
  const ended = (id: string, day: number) => ({ ...job(id, "Failed"), endedAt: `2026-01-0${day}T00:00:00Z` });
  const since = Date.parse("2026-01-02T00:00:00Z");
  const found = endedSince(since, { items: [ended("f", 3), ended("old", 1)] }, { items: [ended("s", 4)] });
  expect(found.jobs.map((each) => each.id)).toEqual(["f", "s"]);
  expect(found.more).toBe(false);
  const full = { items: Array.from({ length: 100 }, (_, n) => ended(`s${n}`, 4)) };
  expect(endedSince(since, { items: [] }, full).more).toBe(true);
});

test("the address of the queue keeps what it knows", () => {
  expect(readQueueView({ owner: "me", running: true, x: 1 })).toEqual({ owner: "me", running: true });
});

test("what virtual clusters got is set beside their part of all guarantees", () => {
  const vc = (name: string, gpu: number) => ({ name, guaranteed: { gpu } }) as VirtualCluster;
  const report = { items: [{ group: "a", gpuHours: 30 }, { group: "b", gpuHours: 10 }] } as Schemas["ReportOut"]; // prettier-ignore
  const lines = fairness([vc("b", 10), vc("a", 10), vc("new", 0)], report);
  expect(lines.map((line) => [line.name, line.used, line.promised])).toEqual([
    ["a", 0.75, 0.5],
    ["b", 0.25, 0.5],
    ["new", 0, 0],
  ]);
});

const RULE_ALERT: RuleAlert = {
  ...{ id: "a", rule: "Disk", check: "node-disk", severity: "critical", owner: null, state: "firing", message: "The disk is full." },
  ...{ subject: { type: "node", name: "n1", cluster: "lab", id: null }, advice: "", value: 3, since: "2026-11-18T10:00:00Z" },
  ...{ firedAt: null, resolvedAt: null, told: true, heldUntil: null, silencedBy: null, inhibitedBy: null, done: [] },
}; // prettier-ignore

test("alerts of rules are asked for in the reader's language with those that are pending, again and again", async () => {
  const asked: string[] = [];
  vi.stubGlobal("location", { origin: "http://portal" });
  vi.stubGlobal("fetch", (request: Request) => {
    asked.push(request.url);
    return Promise.resolve(Response.json({ items: [RULE_ALERT] }));
  });
  const options = queries.ruleAlerts("zh");
  const found = await new QueryClient().query(options);
  expect(found.items).toEqual([RULE_ALERT]);
  expect(asked.map((url) => url.slice(url.indexOf("/api")))).toEqual([
    "/api/v1/alerts/firing?pending=true&language=zh",
  ]);
  expect(options.refetchInterval).toBeGreaterThan(0);
});

test("alerts of rules say how they stand, and the worst come first", () => {
  const pending: RuleAlert = { ...RULE_ALERT, id: "b", state: "pending" };
  const silenced: RuleAlert = { ...RULE_ALERT, id: "c", severity: "info", silencedBy: "s1", inhibitedBy: "Down" };
  expect(worstFirst([silenced, pending, RULE_ALERT]).map((each) => each.id)).toEqual(["a", "b", "c"]);
  expect(unsilenced([silenced, pending])).toEqual([pending]);
  expect(standingOf(en, pending)).toEqual(["pending"]);
  expect(standingOf(en, silenced)).toEqual(["firing", "silenced", "kept back by Down"]);
  expect(subjectOf(RULE_ALERT)).toEqual({ to: "/nodes/$name", params: { name: "n1" }, search: { cluster: "lab" } });
});
