import { describe, expect, test } from "vitest";

import type { Job } from "@/api/client";
import type { JobCount } from "@/api/queries";
import { commandsOf, doAll, fits } from "@/pages/jobs/acts";
import { recounted } from "@/pages/jobs/counting";
import { csvCell, csvOf } from "@/pages/jobs/csv";
import { foldJobs, insertJobs, isFurtherDown, type JobPages } from "@/pages/jobs/folding";
import { belongs, jobQueryOf, quickOf, readJobsView, sortingOf, type JobsView } from "@/pages/jobs/view";
import { runSeconds } from "@/parts/RunTime";

const job = (id: string, more: Partial<Job> = {}): Job =>
  ({
    ...{ id, origin: "muster", name: id, owner: "amy", state: "Running", cluster: "lab", vc: "vision", version: 1 },
    ...{ labels: { team: "cv" }, createdAt: "2026-01-01T00:00:00Z", ...more },
  }) as Job;
const pages = (...ids: string[]): JobPages => ({ pages: [{ items: ids.map((id) => job(id)) }], pageParams: [""] });
const ids = (list: JobPages) => list.pages.flatMap((page) => page.items.map((each) => each.id));

test("an address keeps what is a filter and nothing else", () => {
  expect(
    readJobsView({ state: ["Running", "Nonsense"], label: ["a=b", "bad"], sort: "name", order: "up", x: 1 }),
  ).toEqual({
    state: ["Running"],
    label: ["a=b"],
    sort: "name",
  });
});

test("a text of digits in the address is a text", () => {
  expect(readJobsView({ text: 42 })).toEqual({ text: "42" });
});

test("states of a quick choice are recognised in any order", () => {
  expect(quickOf({ state: ["Stopping", "Running", "Starting"] })).toBe("running");
  expect(quickOf({})).toBe("all");
  expect(quickOf({ state: ["Held"] })).toBeNull();
});

test("jobs of others are asked for without an order, which their list does not have", () => {
  expect(jobQueryOf({ origin: "others", sort: "name", order: "asc", text: "x" })).toEqual({
    origin: "others",
    text: "x",
  });
});

test("members of sweeps are left out unless the address says otherwise", () => {
  expect(jobQueryOf({ text: "x" })).toEqual({ text: "x", members: "none" });
  expect(jobQueryOf(readJobsView({ members: true }))).toEqual({ members: "all" });
  expect(belongs({}, job("a", { sweep: "s" }))).toBe(false);
  expect(belongs({ members: true }, job("a", { sweep: "s" }))).toBe(true);
});

test("the order is the one that the API has for the column unless the address says otherwise", () => {
  expect(sortingOf({})).toEqual({ by: "created", isDescending: true });
  expect(sortingOf({ sort: "owner" }).isDescending).toBe(false);
  expect(sortingOf({ sort: "gpus", order: "asc" }).isDescending).toBe(false);
});

test("a changed job belongs to a view by all of its filters", () => {
  expect(belongs({ state: ["Running"], owner: "amy", label: ["team=cv"], text: "A" }, job("a"))).toBe(true);
  expect(belongs({ state: ["Failed"] }, job("a"))).toBe(false);
  expect(belongs({ label: ["team=nlp"] }, job("a"))).toBe(false);
  expect(belongs({ origin: "others" }, job("a"))).toBe(false);
});

test("only the server can tell whether a job belongs by its reason", () => {
  expect(belongs({ reason: "GPU" }, job("a"))).toBeNull();
});

test("changed jobs take the place of what the list has of them, and new ones are told apart", () => {
  const folded = foldJobs(pages("a", "b"), [job("b", { state: "Failed", version: 2 }), job("c")], [], () => false);
  expect(folded.pages.pages[0]?.items[1]?.state).toBe("Failed");
  expect(folded.unlisted.map((each) => each.id)).toEqual(["c"]);
});

test("an older version never replaces a newer one", () => {
  const old: JobPages = { pages: [{ items: [job("a", { version: 5, state: "Failed" })] }], pageParams: [""] };
  expect(foldJobs(old, [job("a", { version: 4 })], [], () => false).pages.pages[0]?.items[0]?.state).toBe("Failed");
});

test("deleted jobs and those that leave the view are taken out", () => {
  expect(ids(foldJobs(pages("a", "b", "c"), [job("b")], ["a"], () => true).pages)).toEqual(["c"]);
});

test("new jobs come first, newest at the top", () => {
  const later = job("c", { createdAt: "2026-01-03T00:00:00Z" });
  const earlier = job("b", { createdAt: "2026-01-02T00:00:00Z" });
  expect(ids(insertJobs(pages("a"), [earlier, later]))).toEqual(["c", "b", "a"]);
});

test("a job that comes into a view late stands where it was made, or below what is loaded", () => {
  const made = (id: string, day: number) => job(id, { createdAt: `2026-01-0${day}T00:00:00Z` });
  const list: JobPages = {
    pages: [{ items: [made("f", 6), made("d", 4)] }, { items: [made("b", 2)], nextCursor: "more" }],
    pageParams: ["", "second"],
  };
  expect(ids(insertJobs(list, [made("c", 3), made("e", 5)]))).toEqual(["f", "e", "d", "c", "b"]);
  expect(isFurtherDown(list, made("a", 1))).toBe(true);
  expect(isFurtherDown(list, made("c", 3))).toBe(false);
  expect(isFurtherDown(pages("b"), made("a", 1))).toBe(false);
});

describe("the number of jobs of a view", () => {
  const old: JobCount = { total: 500, newest: "2026-01-05T00:00:00Z", counted: new Map() };
  const late = { createdAt: "2026-01-06T00:00:00Z" };
  const after = (count: JobCount, view: JobsView, jobs: Job[], listed: Job[] = [], gone: string[] = []) =>
    recounted(count, view, { jobs, gone }, (id) => listed.find((each) => each.id === id), false);

  test("grows by a new job, once", () => {
    const once = after(old, {}, [job("n", late), job("m", late)]);
    expect(once.total).toBe(502);
    expect(after(once, {}, [job("n", late)]).total).toBe(502);
  });

  test("follows jobs into and out of a state", () => {
    const running = { state: ["Running"] };
    const queued = after(old, running, [job("n", { ...late, state: "Queued" })]);
    expect(queued.total).toBe(500);
    const started = after(queued, running, [job("n", late)]);
    expect(started.total).toBe(501);
    expect(after(started, running, [job("n", { ...late, state: "Failed" })]).total).toBe(500);
    expect(after(old, running, [job("a", { state: "Failed" })], [job("a")]).total).toBe(499);
  });

  test("falls when a job is deleted that was counted", () => {
    const counted = after(old, {}, [job("n", late)]);
    expect(after(counted, {}, [], [job("a")], ["n", "a"]).total).toBe(499);
  });

  test("stays as the server counted it where this page cannot tell", () => {
    expect(after(old, {}, [job("older")]).total).toBe(500);
    expect(after(old, {}, [], [], ["older"]).total).toBe(500);
    expect(after(old, { reason: "GPU" }, [job("n", late)]).total).toBe(500);
    expect(after({ ...old, newest: "" }, { since: "1h" }, [job("older")]).total).toBe(500);
  });

  test("counts what comes into a view that is loaded to its end", () => {
    const found = recounted(old, { state: ["Running"] }, { jobs: [job("older")], gone: [] }, () => undefined, true);
    expect(found.total).toBe(501);
  });
});

test("an act suits only jobs in its states", () => {
  expect(fits("retry", job("a"))).toBe(false);
  expect(fits("kill", job("a"))).toBe(true);
});

test("commands name all jobs, a few on each line", () => {
  const lines = commandsOf(
    "kill",
    Array.from({ length: 9 }, (_, n) => `j${n}`),
  );
  expect(lines).toHaveLength(2);
  expect(lines[1]).toBe("muster kill j8");
});

test("what was refused is answered, and the rest is done", async () => {
  const done: string[] = [];
  const act = (id: string) => (id === "b" ? Promise.reject(new Error("no")) : Promise.resolve(done.push(id)));
  const refused = await doAll([job("a"), job("b"), job("c")], act);
  expect(refused.map((each) => each.job.id)).toEqual(["b"]);
  expect(done.sort()).toEqual(["a", "c"]);
});

test("cells of a CSV file are neither formulas nor broken by quotes and commas", () => {
  expect(csvCell("=HYPERLINK(1)")).toBe("'=HYPERLINK(1)");
  expect(csvCell('a "b", c')).toBe('"a ""b"", c"');
  expect(csvCell(-3)).toBe("-3");
  const column = { id: "name", label: "Name", width: 1, cell: () => "", plain: (each: Job) => each.name };
  expect(csvOf([column], [job("x")])).toBe("Name\r\nx\r\n");
});

test("the run time is that of all attempts, without the time between them", () => {
  const now = Date.parse("2026-01-01T10:00:00Z");
  const ran = { startedAt: "2026-01-01T00:00:00Z", runTimeS: 60, runningSince: null };
  expect(runSeconds(ran, now)).toBe(60);
  expect(runSeconds({ ...ran, runningSince: "2026-01-01T09:59:30Z" }, now)).toBe(90);
  expect(runSeconds({ ...ran, startedAt: null, runTimeS: 0 }, now)).toBeNull();
});
