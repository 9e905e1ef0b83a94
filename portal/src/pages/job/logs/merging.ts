import type { LogLine } from "./WorkerLog";

/** A row of the merged view: which line of which worker. */
export interface MergedRow {
  worker: number;
  n: number;
}

/**
 * The loaded ends of several logs in the order of their times. Lines of one worker stay in order; a line without a
 * time has that of the line before it. What is older than the oldest loaded line of a worker that has more lines is
 * left out, because lines of that worker would be missing between.
 */
export function mergedByTime(logs: { lines: LogLine[]; hasMore: boolean }[]): MergedRow[] {
  const timed = logs.map(({ lines }) => withTimes(lines));
  const horizon = Math.max(
    Number.NEGATIVE_INFINITY,
    ...timed.flatMap((lines, index) => (logs[index]!.hasMore && lines.length ? [lines[0]!.time] : [])),
  );
  const rows = timed.flatMap((lines, worker) =>
    lines.filter(({ time }) => time >= horizon).map(({ line, time }) => ({ worker, n: line.n, time })),
  );
  rows.sort((a, b) => compareTimes(a.time, b.time) || compareUntimed(a, b));
  return rows.map(({ worker, n }) => ({ worker, n }));
}

const compareTimes = (a: number, b: number): number => (a === b ? 0 : a < b ? -1 : 1);

/** Lines of the same second stay together by worker; lines of which no time is known take turns. */
function compareUntimed(a: MergedRow & { time: number }, b: MergedRow & { time: number }): number {
  return a.time === Number.NEGATIVE_INFINITY ? a.n - b.n || a.worker - b.worker : a.worker - b.worker || a.n - b.n;
}

function withTimes(lines: LogLine[]): { line: LogLine; time: number }[] {
  let time = Number.NEGATIVE_INFINITY;
  return lines.map((line) => {
    const own = line.at ? Date.parse(line.at) : Number.NaN;
    if (!Number.isNaN(own)) time = Math.max(time, own);
    return { line, time };
  });
}
