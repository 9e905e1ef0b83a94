import { workerOf } from "../naming";
import { ApiProblem, isPassing, Unreachable, type Problem } from "@/api/client";
import { live, type LogsChange } from "@/api/live";
import { ServerEvents } from "@/api/serverEvents";

/** A piece of one worker's log. */
export interface LogPiece {
  worker: string;
  offset: number;
  end: number;
  text: string;
  time?: string;
}

export interface Followed {
  ref: string;
  id: string;
  job: string;
  attempt: number;
  workers: string[];
}

export interface FollowHandlers {
  /** Where to begin with a worker, which may be `isFarBehind` what it has printed. */
  begin: (worker: string, isFarBehind: boolean) => Promise<number>;
  onPieces: (pieces: LogPiece[]) => void;
  /** These workers print no more, and everything they have printed has been told. */
  onOver: (workers: string[]) => void;
  onError: (error: unknown) => void;
}

/** Asks for pieces from a cursor on. */
export type AskPieces = (of: Followed, workers: string[], cursor: string) => Promise<LogPiece[]>;

const MOST_AT_ONCE = 100;
const MOST_BEHIND_BYTES = 1 << 20;
const RETRY_MS = 2_000;
/** The status of answers whose node does not answer. */
const UNREAD = 503;

/**
 * Follows logs until it is closed. The event stream of the page tells that there is more, and the text is then asked for
 * from where it ended. Of a log that has grown by very much, only the end is loaded.
 */
export class LogFollower {
  private readonly ends = new Map<string, number>();
  private readonly sizes = new Map<string, number>();
  private readonly over = new Set<string>();
  private readonly due: Set<string>;
  private readonly leave: (() => void)[];
  private timer: ReturnType<typeof setTimeout> | undefined;
  private isAsking = false;
  private isClosed = false;

  constructor(
    private readonly of: Followed,
    private readonly handlers: FollowHandlers,
    private readonly ask: AskPieces = askPieces,
  ) {
    this.due = new Set(of.workers);
    const topic = of.workers.length === 1 ? `logs:${of.id}:${of.workers[0]}` : `logs:${of.id}`;
    this.leave = [live.subscribe(topic, "logs", this.hear), live.onCovered(() => this.askAll())];
  }

  close(): void {
    this.isClosed = true;
    clearTimeout(this.timer);
    this.leave.forEach((leave) => leave());
  }

  hear = (change: LogsChange): void => {
    if (change.id !== this.of.id) return;
    const { workers, attempt } = this.of;
    if (!change.isRunning && (change.worker === null || workers.includes(change.worker))) {
      workers.forEach((worker) => this.finish(worker));
    }
    for (const log of change.logs) {
      if (log.attempt !== attempt || !workers.includes(log.worker)) continue;
      this.sizes.set(log.worker, log.sizeBytes);
      if (log.isOver) this.finish(log.worker);
      if (log.sizeBytes > (this.ends.get(log.worker) ?? -1)) this.due.add(log.worker);
    }
    void this.work();
  };

  private finish(worker: string): void {
    this.over.add(worker);
    this.due.add(worker);
  }

  /** What was printed before the stream told about these logs is not told by it. */
  private askAll(): void {
    this.of.workers.forEach((worker) => this.due.add(worker));
    void this.work();
  }

  private async work(): Promise<void> {
    if (this.isAsking) return;
    this.isAsking = true;
    clearTimeout(this.timer);
    try {
      while (this.due.size && !this.isClosed) await this.askSome([...this.due].slice(0, MOST_AT_ONCE));
    } catch (error) {
      if (this.isClosed) return;
      this.handlers.onError(error);
      if (isPassing(error)) this.timer = setTimeout(() => void this.work(), RETRY_MS);
    } finally {
      this.isAsking = false;
    }
  }

  private async askSome(workers: string[]): Promise<void> {
    const over = workers.filter((worker) => this.over.has(worker));
    workers.forEach((worker) => this.due.delete(worker));
    try {
      await Promise.all(workers.map((worker) => this.begin(worker)));
      const pieces = await this.ask(this.of, workers, this.cursor(workers));
      if (this.isClosed) return;
      for (const { worker, end } of pieces) this.ends.set(worker, end);
      this.handlers.onPieces(pieces);
    } catch (error) {
      workers.forEach((worker) => this.due.add(worker));
      throw error;
    }
    over.forEach((worker) => this.over.delete(worker));
    if (over.length) this.handlers.onOver(over);
  }

  private async begin(worker: string): Promise<void> {
    const end = this.ends.get(worker);
    const isFarBehind = end !== undefined && (this.sizes.get(worker) ?? 0) - end > MOST_BEHIND_BYTES;
    if (end === undefined || isFarBehind) this.ends.set(worker, await this.handlers.begin(worker, isFarBehind));
  }

  private cursor(workers: string[]): string {
    const { job, attempt } = this.of;
    return [attempt, ...workers.map((worker) => `${job}-${worker}=${this.ends.get(worker)}`)].join(";");
  }
}

async function askPieces({ ref, job, attempt, workers: all }: Followed, workers: string[], cursor: string) {
  const query = new URLSearchParams({ timestamps: "true", attempt: String(attempt), cursor });
  if (workers.length < all.length || all.length === 1) workers.forEach((worker) => query.append("task", worker));
  const address = `/api/v1/jobs/${encodeURIComponent(ref)}/logs?${query}`;
  const response = await fetch(address, { credentials: "same-origin" }).catch(() => null);
  if (!response) throw new Unreachable();
  if (!response.ok) {
    throw new ApiProblem(response.status, (await response.json().catch(() => ({}))) as Partial<Problem>);
  }
  const text = await response.text().catch(() => null);
  if (text === null) throw new Unreachable();
  const events = new ServerEvents().feed(text);
  const pieces = events
    .filter(({ event }) => event === "log")
    .map(({ data }): LogPiece => {
      const { task, ...piece } = JSON.parse(data) as { task: string } & Omit<LogPiece, "worker">;
      return { worker: workerOf(job, task), ...piece };
    });
  const unread = events.find(({ event }) => event === "unread");
  if (unread && !pieces.length) throw new ApiProblem(UNREAD, JSON.parse(unread.data) as Partial<Problem>);
  return pieces;
}
