import { afterEach, beforeEach, expect, test, vi } from "vitest";

import { earliest, whenDue } from "@/api/due";

let done = 0;
const act = () => void (done += 1);
const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString();

beforeEach(() => {
  done = 0;
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

test("an estimate is asked for again when its time has come, and again while it is overdue", () => {
  const stop = whenDue(inSeconds(60), act);
  vi.advanceTimersByTime(59_000);
  expect(done).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(done).toBe(1);
  vi.advanceTimersByTime(30_000);
  expect(done).toBe(3);
  stop();
  vi.advanceTimersByTime(60_000);
  expect(done).toBe(3);
});

test("what is overdue already is asked for at once, and nothing once it is stopped before", () => {
  whenDue(inSeconds(-300), act)();
  vi.advanceTimersByTime(60_000);
  expect(done).toBe(0);
  whenDue(inSeconds(-300), act);
  vi.advanceTimersByTime(0);
  expect(done).toBe(1);
});

test("a time that is too far away for a timer is not taken for one that has come", () => {
  whenDue(inSeconds(40 * 86_400), act);
  vi.advanceTimersByTime(3_600_000);
  expect(done).toBe(0);
});

test("the first of several times is found whatever their order", () => {
  expect(earliest(["2026-01-02T00:00:00Z", "2026-01-01T12:00:00Z", "2026-01-03T00:00:00Z"])).toBe(
    "2026-01-01T12:00:00Z",
  );
  expect(earliest([])).toBeNull();
});
