import { describe, expect, it } from "vitest";

import type { JobEvent, Task } from "@/api/client";
import { actsOf } from "@/pages/job/acts";
import { readJobView, without } from "@/pages/job/address";
import { changeOptions, notChanges, readChanges } from "@/pages/job/head/changes";
import { aligned, linesOf, type TaskHistory } from "@/pages/job/metrics/series";
import { plannedWorker, rangesText, workerOf } from "@/pages/job/naming";
import { folderAt, outputAddress, type Output } from "@/pages/job/outputs/tree";
import { diffLines, withContext } from "@/pages/job/spec/diff";
import { valueAt, valueText } from "@/pages/job/spec/paths";
import { eventDetails, eventText } from "@/pages/job/timeline/eventText";
import { layOut, marksOf } from "@/pages/job/timeline/layout";
import { mergedEvents } from "@/pages/job/useLiveJob";
import { en } from "@/words/en";
import { zh } from "@/words/zh";

const at = (second: number) => new Date(second * 1000).toISOString();
const task = (some: Partial<Task>): Task => ({
  id: "i",
  name: "j-worker-0",
  role: "worker",
  index: 0,
  rank: 0,
  attempt: 1,
  state: "Running",
  node: "n",
  devices: [],
  extendedDevices: [],
  ports: [],
  startedAt: at(10),
  endedAt: null,
  exitCode: null,
  signal: null,
  reason: "",
  ...some,
});
const event = (seq: number, kind: string, second: number, data: Record<string, unknown>): JobEvent => ({
  seq,
  kind,
  at: at(second),
  jobId: "i",
  actor: null,
  data,
});

describe("the address of a job", () => {
  it("takes only what it knows", () => {
    expect(readJobView({ tab: "logs", worker: "worker-0", line: 12, wrap: true, x: 1 })).toEqual({
      tab: "logs",
      worker: "worker-0",
      line: 12,
      wrap: true,
    });
    expect(readJobView({ tab: "evil", line: -1, attempt: "two", wrap: "yes", spec: {}, q: ["a"] })).toEqual({});
    expect(without({ tab: "logs", line: 3 }, "line")).toEqual({ tab: "logs" });
  });
});

describe("acts", () => {
  it("are those that make sense in the state", () => {
    expect(actsOf({ state: "Running" }, true)).toEqual(["stop", "hold", "clone"]);
    expect(actsOf({ state: "Queued" }, true)).toContain("whatIf");
    expect(actsOf({ state: "Failed" }, true)).toEqual(["retry", "clone", "delete"]);
    expect(actsOf({ state: "Running" }, false)).toEqual([]);
  });

  it("take changes line by line", () => {
    const text = "resources.gpu=2\n params.lr=0.1\n name=a=b\nbroken\n";
    expect(readChanges(text)).toEqual({ set: { "resources.gpu": 2, name: "a=b" }, params: { lr: 0.1 } });
    expect(notChanges(text)).toEqual(["broken"]);
    expect(notChanges("gpus 2\n=3\nvc=a")).toEqual(["gpus 2", "=3"]);
    expect(changeOptions("a='x y'; rm\nparams.lr=1")).toEqual([`--set 'a='\\''x y'\\''; rm'`, "--param lr=1"]);
  });
});

describe("the timeline", () => {
  const events = [
    event(1, "job.queued", 0, { state: "Queued" }),
    event(2, "job.running", 10, { state: "Running" }),
    event(3, "task.running", 10, { state: "Running", name: "j-worker-0", attempt: 1 }),
    event(4, "task.failed", 20, { state: "Failed", name: "j-worker-0", attempt: 1 }),
    event(5, "job.failed", 20, { state: "Failed" }),
  ];

  it("shows states from submission to end, the last stretch of a task as it ended", () => {
    const ended = task({ state: "Failed", endedAt: at(20) });
    const picture = layOut(at(0), at(20), [ended], events, 1e12);
    expect(picture.lanes[0]?.stretches.map(({ state, left, width }) => [state, left, width])).toEqual([
      ["Queued", 0, 0.5],
      ["Running", 0.5, 0.5],
    ]);
    expect(picture.lanes[1]?.stretches).toMatchObject([{ state: "Failed", left: 0.5, width: 0.5 }]);
  });

  it("knows what tasks say if there are no events", () => {
    const picture = layOut(at(0), null, [task({})], [], 40_000);
    expect(picture.lanes[1]?.stretches).toMatchObject([{ state: "Running", left: 0.25, width: 0.75 }]);
  });

  it("is unharmed by strange events and times", () => {
    const strange = [
      event(1, "job", 5, { state: 7 }),
      event(2, "task.x", -5, {}),
      event(3, "job.running", 99, { state: "<b>" }),
    ];
    const picture = layOut(at(10), at(10), [task({ startedAt: at(50), endedAt: at(5) })], strange, 0);
    for (const { left, width } of picture.lanes.flatMap((lane) => lane.stretches)) {
      expect(left).toBeGreaterThanOrEqual(0);
      expect(left + width).toBeLessThanOrEqual(1.000001);
    }
  });

  it("bounds marks and lanes", () => {
    expect(marksOf(0, 60_000, 6)).toEqual([0, 10_000, 20_000, 30_000, 40_000, 50_000, 60_000]);
    expect(marksOf(0, 1e13, 5).length).toBeLessThan(101);
    const many = Array.from({ length: 1_000 }, (_, index) => task({ id: String(index), index, rank: index }));
    expect(layOut(at(0), null, many, [], 20_000).lanes).toHaveLength(201);
  });

  it("says events in both languages, and unknown ones as they are", () => {
    expect(eventText("en", en, events[0]!)).toBe("Job: Queued");
    expect(eventText("zh", zh, events[3]!)).toBe("j-worker-0：失败");
    expect(eventText("en", en, event(9, "job.unheard", 1, {}))).toBe("job.unheard");
    const collected = event(9, "job.outputs", 1, { state: "Succeeded", files: 2, bytes: 2048, leftOut: 1, reason: "" });
    expect(eventText("en", en, collected)).toBe("Outputs collected: 2 files, 2.0 KiB");
    expect(eventText("zh", zh, collected)).toBe("已收集输出：2 个文件，2.0 KiB");
    expect(eventDetails(en, collected)).toBe("leftOut: 1");
    expect(eventText("en", en, event(9, "job.checkpointed", 1, { state: "Running" }))).toBe("Checkpoint");
    expect(eventDetails(en, event(9, "task.failed", 1, { node: "n1", exitCode: 1, extra: { a: 1 } }))).toBe(
      'on n1 · exit code 1 · extra: {"a":1}',
    );
  });

  it("has each event once", () => {
    expect(mergedEvents(events, [events[4]!, event(6, "job.queued", 30, {})]).map(({ seq }) => seq)).toEqual([
      1, 2, 3, 4, 5, 6,
    ]);
  });
});

describe("comparing specs", () => {
  it("finds what was removed and added", () => {
    expect(diffLines("a\nb\nc\n", "a\nx\nc\n").map(({ kind, text }) => kind + text)).toEqual([
      "samea",
      "goneb",
      "newx",
      "samec",
    ]);
    expect(diffLines("", "a\n")).toEqual([{ kind: "new", text: "a" }]);
    expect(diffLines("a", "a").every((line) => line.kind === "same")).toBe(true);
  });

  it("survives long texts", () => {
    const long = Array.from({ length: 10_000 }, (_, n) => `x${n}`).join("\n");
    expect(diffLines(long, long.replaceAll("x", "y"))).toHaveLength(20_000);
  });

  it("finds values by their paths, and nothing that is not theirs", () => {
    expect(valueAt({ roles: { w: { cpu: 1 } } }, "roles.w.cpu")).toBe(1);
    expect(valueAt({ a: 1 }, "a.b")).toBeUndefined();
    expect(valueAt({}, "constructor.name")).toBeUndefined();
    expect(valueText(["a", 1])).toBe('["a",1]');
    expect(valueText(null)).toBe("");
  });

  it("leaves out what is far from a change", () => {
    const lines = diffLines("1\n2\n3\n4\n5\n6\n", "1\n2\n3\n4\n5\n7\n");
    expect(withContext(lines, 1).map((line) => line?.text ?? null)).toEqual([null, "5", "6", "7"]);
  });
});

describe("outputs", () => {
  const output = (path: string, size = 1): Output => ({ path, size, sha256: "", modifiedAt: at(0), task: "t" });

  it("are folders and files", () => {
    const found = folderAt([output("b.txt"), output("m/x/1", 2), output("m/2", 3)], "");
    expect(found.folders).toEqual([{ name: "m", path: "m", files: 2, size: 5 }]);
    expect(found.files.map(({ name }) => name)).toEqual(["b.txt"]);
    expect(folderAt([output("m/x/1")], "m").folders).toMatchObject([{ name: "x", path: "m/x" }]);
  });

  it("have addresses that lead nowhere else", () => {
    expect(outputAddress("j", "a b/?#/..%2f", 1)).toBe("/api/v1/jobs/j/outputs/a%20b/%3F%23/..%252f?attempt=1");
  });
});

describe("curves", () => {
  const history = (worker: string, seconds: number[], cpu: (number | null)[]): TaskHistory => ({
    task: worker,
    worker,
    node: "n",
    spanS: 5,
    at: seconds.map(at),
    cpuPercent: cpu,
    rssBytes: cpu.map(() => null),
    gpuPercent: [],
    gpuMemoryBytes: [],
    powerW: [],
    gpus: [],
  });

  it("share one axis of time", () => {
    const lines = linesOf([history("a", [0, 5], [100, null]), history("b", [5, 10], [200, 300])], "cpu");
    expect(aligned(lines)).toEqual({
      times: [0, 5, 10],
      series: [
        { label: "a", values: [1, null, undefined] },
        { label: "b", values: [undefined, 2, 3] },
      ],
    });
  });

  it("are absent if nothing was measured", () => {
    expect(linesOf([history("a", [0], [1])], "memory")).toEqual([]);
  });
});

describe("names", () => {
  it("are those of workers", () => {
    expect(workerOf("mnist", "mnist-worker-0")).toBe("worker-0");
    expect(workerOf("x", "mnist-worker-0")).toBe("mnist-worker-0");
    expect(plannedWorker("1m7te2st2w8357pm.1.ps.12")).toBe("ps-12");
    expect(rangesText([3, 0, 1, 2, 6])).toBe("0–3, 6");
    expect(rangesText([])).toBe("");
  });
});
