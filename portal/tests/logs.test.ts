import { describe, expect, it, vi } from "vitest";

import { Unreachable } from "@/api/client";
import { LogSession } from "@/pages/job/logs/LogSession";
import { mergedByTime } from "@/pages/job/logs/merging";
import { MergedLog } from "@/pages/job/logs/MergedLog";
import { WorkerLog, type AskLines, type LogLine } from "@/pages/job/logs/WorkerLog";

/** The real one opens its stream by a timer, which may come when the test and its window are over. */
vi.mock("@/api/live", () => ({ live: { subscribe: () => () => undefined, onCovered: () => () => undefined } }));

/** A log as a server keeps it: it answers by number, at most `most` lines at once. */
class ServedLog {
  lines: LogLine[] = [];
  asked: [number, number][] = [];
  isAway = false;
  isComplete = false;
  constructor(
    count: number,
    private readonly most = 5_000,
  ) {
    for (let n = 1; n <= count; n += 1) this.print(`line ${n}`);
  }

  get size(): number {
    const last = this.lines.at(-1);
    return last ? last.offset! + last.text.length + 1 : 0;
  }

  print(text: string): void {
    this.lines.push({ n: this.lines.length + 1, text, offset: this.size });
  }

  ask: AskLines = (from, count) => {
    this.asked.push([from, count]);
    if (this.isAway) return Promise.reject(new Unreachable());
    const start = from < 0 ? Math.max(0, this.lines.length + from) : from - 1;
    return Promise.resolve({
      lines: this.lines.slice(start, start + Math.min(count, this.most)),
      total: this.lines.length,
      sizeBytes: this.size,
      droppedBytes: 0,
      isComplete: this.isComplete,
    });
  };
}

const settled = () => new Promise((resolve) => setTimeout(resolve, 0));
const opened = async (served: ServedLog): Promise<WorkerLog> => {
  const log = new WorkerLog("worker-0", served.ask, () => undefined);
  await log.open();
  return log;
};

describe("the log of a worker", () => {
  it("opens at its end with one question, however long it is", async () => {
    const served = new ServedLog(100_000);
    const log = await opened(served);
    expect(log.total).toBe(100_000);
    expect(log.line(100_000)?.text).toBe("line 100000");
    expect(log.line(1)).toBeUndefined();
    expect(served.asked).toEqual([[-500, 500]]);
  });

  it("loads what is shown, in several answers if lines are long", async () => {
    const served = new ServedLog(2_000, 100);
    const log = await opened(served);
    log.want(501, 520);
    for (let i = 0; i < 10; i += 1) await settled();
    expect(log.line(501)?.text).toBe("line 501");
    expect(log.line(1_000)?.text).toBe("line 1000");
    log.want(501, 520);
    await settled();
    expect(served.asked.filter(([from]) => from === 501)).toHaveLength(1);
  });

  it("goes on with the stream from the line that its first piece begins with", async () => {
    const served = new ServedLog(10);
    const log = await opened(served);
    const last = served.lines[9]!;
    log.feed(last.offset!, "line 10\nline 11\nhalf");
    expect(log.total).toBe(12);
    expect(log.line(10)?.text).toBe("line 10");
    expect(log.line(11)?.text).toBe("line 11");
    log.feed(last.offset! + 20, " done\n");
    expect(log.line(12)?.text).toBe("half done");
    expect(log.total).toBe(12);
  });

  it("goes on with its last line, and loads the end first if very much was printed since", async () => {
    const served = new ServedLog(10);
    const log = await opened(served);
    expect(await log.goOn(false)).toBe(served.lines[9]!.offset);
    for (let n = 11; n <= 2_000; n += 1) served.print(`line ${n}`);
    expect(await log.goOn(true)).toBe(served.lines[1_999]!.offset);
    expect(log.total).toBe(2_000);
    log.feed(served.lines[1_999]!.offset!, "line 2000\nline 2001\n");
    expect(log.line(2_001)?.text).toBe("line 2001");
    expect(log.line(2_000)?.text).toBe("line 2000");
  });

  it("does not read a line again that is too long to be shown", async () => {
    const served = new ServedLog(0);
    served.print("x".repeat(100));
    served.lines[0]!.cutBytes = 10;
    expect(await (await opened(served)).goOn(false)).toBe(served.size);
  });

  it("keeps what the stream wrote when an older answer comes late", async () => {
    const served = new ServedLog(3);
    const log = await opened(served);
    log.feed(served.lines[2]!.offset!, "line 3\nnew\n");
    await log.refresh();
    expect(log.total).toBe(4);
    expect(log.line(4)?.text).toBe("new");
  });

  it("bounds a line that never ends", async () => {
    const log = await opened(new ServedLog(0));
    for (let i = 0; i < 300; i += 1) log.feed(i * 1_000, "x".repeat(999) + "\r");
    expect(log.total).toBe(1);
    expect(log.line(1)!.text.length).toBeLessThan(70_000);
  });

  it("says what the server refused", async () => {
    const log = new WorkerLog(
      "w",
      () => Promise.reject(new Error("no")),
      () => undefined,
    );
    await log.open();
    expect((log.error as Error).message).toBe("no");
    expect(log.isOpened).toBe(true);
  });
});

const at = (second: number) => new Date(second * 1000).toISOString();

describe("merged logs", () => {
  it("are in the order of time, and each worker's in its own", () => {
    const rows = mergedByTime([
      {
        lines: [
          { n: 1, text: "a", at: at(1) },
          { n: 2, text: "b" },
          { n: 3, text: "c", at: at(5) },
        ],
        hasMore: false,
      },
      { lines: [{ n: 1, text: "d", at: at(2) }], hasMore: false },
    ]);
    expect(rows.map(({ worker, n }) => `${worker}:${n}`)).toEqual(["0:1", "0:2", "1:1", "0:3"]);
  });

  it("leave out what is older than the beginning of a log that has more", () => {
    const rows = mergedByTime([
      {
        lines: [
          { n: 1, text: "old", at: at(1) },
          { n: 2, text: "new", at: at(9) },
        ],
        hasMore: false,
      },
      { lines: [{ n: 51, text: "x", at: at(5) }], hasMore: true },
    ]);
    expect(rows).toEqual([
      { worker: 1, n: 51 },
      { worker: 0, n: 2 },
    ]);
  });

  it("grow with lines as they arrive", async () => {
    const [one, two] = [new ServedLog(2), new ServedLog(2)];
    const merged = new MergedLog([await opened(one), await opened(two)]);
    merged.sync();
    expect(merged.rows).toHaveLength(4);
    merged.logs[1]!.feed(two.lines[1]!.offset!, "line 2\nmore\n");
    merged.sync();
    expect(merged.rows.at(-1)).toEqual({ worker: 1, n: 3 });
    expect(merged.hasEarlier).toBe(false);
  });
});

describe("a session of logs", () => {
  const open = async (...served: ServedLog[]) => {
    const workers = served.map((_, index) => `worker-${index}`);
    const of = { ref: "j", id: "j", job: "j", attempt: 1, workers };
    const session = new LogSession(of, (_, worker) => served[workers.indexOf(worker)]!.ask);
    const close = session.start();
    for (let i = 0; i < 10; i += 1) await settled();
    return { session, close };
  };

  it("loads what could not be loaded when the server answers again", async () => {
    const served = new ServedLog(1_000);
    served.isComplete = true;
    served.isAway = true;
    const { session, close } = await open(served);
    expect(session.error).toBeInstanceOf(Unreachable);
    expect(session.count).toBe(0);
    served.isAway = false;
    await session.retry();
    expect(session.error).toBeNull();
    expect(session.count).toBe(1_000);
    close();
  });

  it("shows a log that came late from its end, with the others", async () => {
    const [here, away] = [new ServedLog(3), new ServedLog(30_000)];
    [here, away].forEach((log) => (log.isComplete = true));
    away.isAway = true;
    const { session, close } = await open(here, away);
    session.merged!.sync();
    expect(session.count).toBe(3);
    away.isAway = false;
    await session.retry();
    session.merged!.sync();
    expect(session.indexOf("worker-1", 30_000)).toBeGreaterThanOrEqual(0);
    expect(session.count).toBeLessThan(2_000);
    close();
  });
});
