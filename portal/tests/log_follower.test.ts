import { describe, expect, it, vi } from "vitest";

import { Unreachable } from "@/api/client";
import { LogFollower, type LogPiece } from "@/pages/job/logs/LogFollower";

/** The real one opens its stream by a timer, which may come when the test and its window are over. */
vi.mock("@/api/live", () => ({ live: { subscribe: () => () => undefined, onCovered: () => () => undefined } }));

const settled = async () => {
  for (let i = 0; i < 10; i += 1) await new Promise((resolve) => setTimeout(resolve, 0));
};
const notice = (sizes: Record<string, number>, isOver = false) => ({
  id: "1",
  worker: null,
  isRunning: !isOver,
  logs: Object.entries(sizes).map(([worker, sizeBytes]) => ({ worker, attempt: 1, sizeBytes, isOver })),
});

const following = (workers: string[]) => {
  const cursors: string[] = [];
  const begun: [string, boolean][] = [];
  const over: string[] = [];
  const errors: unknown[] = [];
  const answers: (LogPiece[] | Error)[] = [];
  const follower = new LogFollower(
    { ref: "train", id: "1", job: "train", attempt: 1, workers },
    {
      begin: (worker, isFarBehind) => {
        begun.push([worker, isFarBehind]);
        return Promise.resolve(10);
      },
      onPieces: () => undefined,
      onOver: (ended) => over.push(...ended),
      onError: (error) => errors.push(error),
    },
    (_, __, cursor) => {
      cursors.push(cursor);
      const next = answers.shift() ?? [];
      return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
    },
  );
  return { follower, cursors, begun, over, errors, answers };
};
const piece = (worker: string, offset: number, end: number): LogPiece => ({ worker, offset, end, text: "" });

describe("following logs", () => {
  it("asks for what has come since, of those that have grown", async () => {
    const { follower, cursors, answers } = following(["worker-0", "worker-1"]);
    answers.push([piece("worker-0", 10, 20), piece("worker-1", 10, 15)], [piece("worker-1", 15, 30)]);
    follower.hear(notice({ "worker-0": 20, "worker-1": 15 }));
    await settled();
    follower.hear(notice({ "worker-0": 20, "worker-1": 30 }));
    await settled();
    follower.hear(notice({ "worker-1": 30 }));
    await settled();
    expect(cursors).toEqual(["1;train-worker-0=10;train-worker-1=10", "1;train-worker-1=15"]);
    follower.close();
  });

  it("loads only the end of a log that has grown by very much", async () => {
    const { follower, begun } = following(["worker-0"]);
    follower.hear(notice({ "worker-0": 10 }));
    await settled();
    follower.hear(notice({ "worker-0": 50_000_000 }));
    await settled();
    expect(begun).toEqual([
      ["worker-0", false],
      ["worker-0", true],
    ]);
    follower.close();
  });

  it("says which logs are over after it has asked for the rest of them", async () => {
    const { follower, over, cursors } = following(["worker-0"]);
    follower.hear(notice({ "worker-0": 10 }, true));
    await settled();
    expect(cursors).toHaveLength(1);
    expect(over).toEqual(["worker-0"]);
    follower.close();
  });

  it("does not forget what it could not ask for", async () => {
    const { follower, cursors, errors, answers } = following(["worker-0"]);
    answers.push(new Unreachable());
    follower.hear(notice({ "worker-0": 20 }));
    await settled();
    expect(errors).toHaveLength(1);
    follower.hear({ ...notice({}), isRunning: true });
    await settled();
    expect(cursors).toEqual(["1;train-worker-0=10", "1;train-worker-0=10"]);
    follower.close();
  });

  it("is not about other jobs, workers and attempts", async () => {
    const { follower, cursors } = following(["worker-0"]);
    follower.hear({ ...notice({ "worker-0": 20 }), id: "2" });
    await settled();
    expect(cursors).toEqual([]);
    follower.close();
  });
});
