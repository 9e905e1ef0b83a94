import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { paced } from "@/api/pacing";

let done = 0;
const act = () => void (done += 1);
beforeEach(() => {
  done = 0;
  vi.useFakeTimers();
  vi.spyOn(Math, "random").mockReturnValue(0.5);
});
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

test("what is asked for many times at once is done once, at a moment of this page's own", () => {
  const { ask } = paced(act, { spreadMs: 2_000 });
  for (let n = 0; n < 30; n += 1) ask();
  vi.advanceTimersByTime(999);
  expect(done).toBe(0);
  vi.advanceTimersByTime(1);
  expect(done).toBe(1);
  vi.advanceTimersByTime(60_000);
  expect(done).toBe(1);
});

test("it is not done again before its time, however often it is asked for", () => {
  const { ask } = paced(act, { everyMs: 10_000, spreadMs: 2_000 });
  for (let second = 0; second < 60; second += 1) {
    ask();
    vi.advanceTimersByTime(1_000);
  }
  expect(done).toBe(6);
});

test("it waits as long as it should, and does nothing once it is cancelled", () => {
  const { ask, cancel } = paced(act, { afterMs: 30_000, spreadMs: 30_000 });
  ask();
  vi.advanceTimersByTime(44_999);
  expect(done).toBe(0);
  vi.advanceTimersByTime(1);
  expect(done).toBe(1);
  ask();
  cancel();
  vi.advanceTimersByTime(120_000);
  expect(done).toBe(1);
});
