import { mergedByTime, type MergedRow } from "./merging";
import type { LogLine, WorkerLog } from "./WorkerLog";

const MOST_ROWS = 200_000;
const FIRST_ROWS = 20_000;
const FEWEST_OF_ONE = 50;
const MOST_OF_ONE = 1_000;

/** The logs of several workers as one: their ends by time, then lines as they arrive. */
export class MergedLog {
  rows: MergedRow[] = [];
  private firsts: number[];
  private lasts: number[];
  private isOpened = false;

  constructor(readonly logs: WorkerLog[]) {
    this.firsts = logs.map(() => 1);
    this.lasts = logs.map(() => 0);
  }

  /** How many lines of each worker are shown at first. */
  get share(): number {
    return Math.min(MOST_OF_ONE, Math.max(FEWEST_OF_ONE, Math.floor(FIRST_ROWS / Math.max(1, this.logs.length))));
  }

  get hasEarlier(): boolean {
    return this.firsts.some((first) => first > 1);
  }

  get isFull(): boolean {
    return this.rows.length >= MOST_ROWS;
  }

  /** Takes over what the logs have got since. Lines that are new come last. */
  sync(): void {
    if (!this.isOpened) {
      if (!this.logs.every((log) => log.isOpened)) return;
      this.isOpened = true;
      this.firsts = this.logs.map((log) => Math.max(1, log.total - this.share + 1));
      this.order();
      return;
    }
    if (this.logs.some((log, worker) => this.lasts[worker] === 0 && log.total > 0 && !log.line(1))) {
      this.reopen();
      return;
    }
    this.logs.forEach((log, worker) => {
      const last = this.lasts[worker] ?? 0;
      if (log.total - last > MOST_ROWS) this.lasts[worker] = log.total - MOST_ROWS;
      for (let n = (this.lasts[worker] ?? 0) + 1; n <= log.total; n += 1) this.rows.push({ worker, n });
      this.lasts[worker] = log.total;
    });
    if (this.rows.length > MOST_ROWS * 1.1) this.rows = this.rows.slice(-MOST_ROWS);
  }

  /** A log that could not be read at first is shown from its end, too. */
  private reopen(): void {
    this.firsts = this.logs.map((log, worker) =>
      this.lasts[worker] === 0 ? Math.max(1, log.total - this.share + 1) : this.firsts[worker]!,
    );
    this.order();
  }

  /** Loads a share of older lines of each worker, and puts everything in order again. */
  loadEarlier(): void {
    this.firsts = this.firsts.map((first) => Math.max(1, first - this.share));
    this.logs.forEach((log, worker) => log.want(this.firsts[worker]!, this.lasts[worker]!));
    this.order();
  }

  /** Puts what is loaded in order again, such as after older lines have arrived. */
  order(): void {
    const ends = this.logs.map((log, worker) => {
      const lines: LogLine[] = [];
      for (let n = log.total; n >= this.firsts[worker]!; n -= 1) {
        const line = log.line(n);
        if (!line) break;
        lines.unshift(line);
      }
      return { lines, hasMore: (lines[0]?.n ?? 1) > 1 };
    });
    this.rows = mergedByTime(ends);
    this.lasts = this.logs.map((log) => log.total);
  }
}
