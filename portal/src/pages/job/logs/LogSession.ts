import { LogFollower, type LogPiece } from "./LogFollower";
import { MergedLog } from "./MergedLog";
import { WorkerLog, type AskLines, type LogLine } from "./WorkerLog";
import { answer, api, ApiProblem, isPassing } from "@/api/client";

const AT_ONCE = 4;
const BUSY_RETRIES = 40;
const BUSY_MS = 300;
const RETRY_MS = 2_000;

export interface SessionOf {
  ref: string;
  id: string;
  job: string;
  attempt: number;
  /** Those whose logs are shown; several are merged. */
  workers: string[];
}

/** A row as it is drawn: a line, or one that is still on its way. */
export interface LogRow {
  worker: number;
  n: number;
  line: LogLine | undefined;
}

/** The logs that a page shows: they are opened, followed and kept until it is left. */
export class LogSession {
  readonly logs: WorkerLog[];
  readonly merged: MergedLog | null;
  private version = 0;
  private watchers = new Set<() => void>();
  private frame = 0;
  private follower: LogFollower | null = null;
  private retryTimer: ReturnType<typeof setTimeout> | null = null;
  private wanted: [number, number] | null = null;
  private isOver = false;

  constructor(
    private readonly of: SessionOf,
    ask: (of: SessionOf, worker: string) => AskLines = asking,
  ) {
    this.logs = of.workers.map((worker) => new WorkerLog(worker, ask(of, worker), () => this.tell()));
    this.merged = of.workers.length === 1 ? null : new MergedLog(this.logs);
  }

  /** Returns what ends the session. */
  start(): () => void {
    void this.open();
    return () => {
      this.isOver = true;
      this.follower?.close();
      cancelAnimationFrame(this.frame);
      if (this.retryTimer !== null) clearTimeout(this.retryTimer);
    };
  }

  subscribe = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  current = (): number => this.version;

  get isOpened(): boolean {
    return this.logs.every((log) => log.isOpened);
  }

  get count(): number {
    return this.merged ? this.merged.rows.length : (this.logs[0]?.total ?? 0);
  }

  get error(): unknown {
    return this.logs.find((log) => log.error)?.error ?? null;
  }

  get isComplete(): boolean {
    return this.logs.every((log) => log.isComplete);
  }

  row(index: number): LogRow {
    const found = this.merged ? this.merged.rows[index] : { worker: 0, n: index + 1 };
    if (!found) return { worker: 0, n: 0, line: undefined };
    return { ...found, line: this.logs[found.worker]?.line(found.n) };
  }

  /** The row of a line, or -1 if it is not among what is shown. */
  indexOf(worker: string, n: number): number {
    if (!this.merged) return this.logs[0]?.worker === worker && n <= this.logs[0].total ? n - 1 : -1;
    return this.merged.rows.findLastIndex((row) => row.n === n && this.logs[row.worker]?.worker === worker);
  }

  want(first: number, last: number): void {
    this.wanted = [first, last];
    if (!this.merged) {
      this.logs[0]?.want(first + 1, last + 1);
      return;
    }
    for (let index = first; index <= last; index += 1) {
      const row = this.merged.rows[index];
      if (row && !this.logs[row.worker]?.line(row.n)) this.logs[row.worker]?.want(row.n, row.n);
    }
  }

  /** Asks at once for what could not be loaded. */
  retry = async (): Promise<void> => {
    const failed = this.logs.filter((log) => isPassing(log.error));
    await this.load(failed);
    if (this.isOver) return;
    this.follow();
    if (this.wanted) this.want(...this.wanted);
    this.tell();
  };

  private async open(): Promise<void> {
    await this.load(this.logs);
    if (this.isOver) return;
    this.follow();
    this.tell();
  }

  private async load(logs: WorkerLog[]): Promise<void> {
    const waiting = [...logs];
    const lines = this.merged?.share;
    const work = async () => {
      for (let log = waiting.shift(); log && !this.isOver; log = waiting.shift()) await log.open(lines);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, work));
  }

  private follow(): void {
    if (this.follower || this.isComplete || this.logs.every((log) => log.error)) return;
    this.follower = new LogFollower(this.of, {
      onPieces: (pieces) => this.take(pieces),
      begin: (worker, isFarBehind) => this.named(worker)!.goOn(isFarBehind),
      onOver: (workers) => void this.finish(workers),
      onError: (error) => this.fail(error),
    });
  }

  /** Nothing is followed any more when all logs are complete. */
  private async finish(workers: string[]): Promise<void> {
    await Promise.all(this.logs.filter((log) => workers.includes(log.worker)).map((log) => log.refresh()));
    if (this.isComplete) this.follower?.close();
  }

  private fail(error: unknown): void {
    this.logs.forEach((log) => (log.error ??= error));
    this.tell();
  }

  private named(worker: string): WorkerLog | undefined {
    return this.logs.find((log) => log.worker === worker);
  }

  /** What failed because the server did not answer is tried until it works. */
  private retrySoon(): void {
    if (this.retryTimer !== null || this.isOver || !this.logs.some((log) => isPassing(log.error))) return;
    this.retryTimer = setTimeout(() => {
      void (document.hidden ? Promise.resolve() : this.retry()).then(() => {
        this.retryTimer = null;
        this.retrySoon();
      });
    }, RETRY_MS);
  }

  private take(pieces: LogPiece[]): void {
    const byName = new Map(this.logs.map((log) => [log.worker, log]));
    for (const { worker, offset, text, time } of pieces) byName.get(worker)?.feed(offset, text, time);
    this.logs.forEach((log) => {
      if (isPassing(log.error)) log.error = null;
    });
    this.tell();
  }

  /** Changes of one moment are shown together. */
  private tell(): void {
    if (this.frame || this.isOver) return;
    this.frame = requestAnimationFrame(() => {
      this.frame = 0;
      this.merged?.sync();
      this.version += 1;
      this.retrySoon();
      this.watchers.forEach((watcher) => watcher());
    });
  }
}

/** Lines by number. While the server counts the lines of a long log, or is busy, it is asked again. */
function asking({ ref, attempt }: SessionOf, worker: string): AskLines {
  return async (from, count) => {
    for (let tries = 0; ; tries += 1) {
      try {
        const query = { worker, attempt, from, count };
        return await answer(api.GET("/api/v1/jobs/{ref}/logs/lines", { params: { path: { ref }, query } }));
      } catch (error) {
        const isBusy = error instanceof ApiProblem && [429, 503].includes(error.status);
        if (!isBusy || tries >= BUSY_RETRIES) throw error;
        await new Promise((resolve) => setTimeout(resolve, BUSY_MS));
      }
    }
  };
}
