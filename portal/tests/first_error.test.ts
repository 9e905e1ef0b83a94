import { describe, expect, it } from "vitest";

import { firstError, type AskSearch } from "@/pages/job/logs/firstError";

type Printed = Record<string, Record<number, string>>;

/** Searches as a server does: worker by worker, `many` lines in one answer. */
function served(printed: Printed, many = Infinity): { ask: AskSearch; count: () => number } {
  const all = Object.entries(printed).flatMap(([worker, lines]) =>
    Object.entries(lines).map(([n, text]) => ({ worker, n: Number(n), text })),
  );
  let count = 0;
  const ask: AskSearch = (sign, cursor) => {
    count += 1;
    const fold = (text: string) => (sign.case ? text : text.toLowerCase());
    const [from, to] = [Number(cursor ?? 0), Number(cursor ?? 0) + many];
    const items = all.slice(from, to).filter(({ text }) => fold(text).includes(fold(sign.q)));
    return Promise.resolve({ items: items.slice(0, 1), nextCursor: to < all.length ? String(to) : null });
  };
  return { ask, count: () => count };
}

const LONG = {
  "worker-0": {
    1: "epoch 1, train error: 0.9",
    123_457: "Traceback (most recent call last):",
    123_459: "ValueError: bad",
    200_004: "ERROR: the end",
  },
};

describe("the first error", () => {
  it("is the first in the log, also if the server's evidence is its end", async () => {
    const found = await firstError(served(LONG).ask, ["worker-0"], ["ValueError: bad", "ERROR: the end"]);
    expect(found?.n).toBe(123_457);
  });

  it("is found where a search ends early and goes on", async () => {
    expect((await firstError(served(LONG, 1).ask, ["worker-0"], []))?.n).toBe(123_457);
  });

  it("is that of the first worker that has one", async () => {
    const printed = { "worker-0": { 90: "KeyError: a" }, "worker-1": { 5: "Traceback (most recent call last):" } };
    const found = await firstError(served(printed).ask, ["worker-0", "worker-1"], []);
    expect(found).toMatchObject({ worker: "worker-0", n: 90 });
  });

  it("is the evidence if no line is surely one, and then what may be one", async () => {
    const printed = { w: { 2: "train error: 0.9", 7: "Segmentation fault" } };
    expect((await firstError(served(printed).ask, ["w"], ["Segmentation fault"]))?.n).toBe(7);
    expect((await firstError(served(printed).ask, ["w"], []))?.n).toBe(2);
    expect(await firstError(served({ w: { 1: "fine" } }).ask, ["w"], [])).toBeNull();
  });

  it("is not searched for without end", async () => {
    const lines = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [n + 1, "fine"]));
    const { ask, count } = served({ w: lines }, 1);
    expect(await firstError(ask, ["w"], [])).toBeNull();
    expect(count()).toBe(100);
  });
});
