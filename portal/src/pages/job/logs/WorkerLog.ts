import { foldReturns } from "./folding";

/** One line of a worker's log. `offset` is unknown of a line that came by the stream. */
export interface LogLine {
  n: number;
  text: string;
  offset?: number;
  at?: string;
  cutBytes?: number;
}

export interface LinesAnswer {
  lines: LogLine[];
  total: number;
  sizeBytes: number;
  droppedBytes: number;
  isComplete: boolean;
}

/** Asks the server for lines by number; a negative first line counts from the end. */
export type AskLines = (from: number, count: number) => Promise<LinesAnswer>;

export const PAGE_LINES = 500;
const KEPT_PAGES = 400;
const LONGEST_OPEN_LINE = 65_536;

/**
 * The log of one worker in one attempt, as far as it has been asked for: pages of lines by number, and an end that
 * grows with what the stream brings. What is not known is asked for when it is shown.
 */
export class WorkerLog {
  total = 0;
  droppedBytes = 0;
  sizeBytes = 0;
  isComplete = false;
  isOpened = false;
  error: unknown = null;

  private pages = new Map<number, (LogLine | undefined)[]>();
  private asked = new Set<number>();
  /** The number of the line that the next piece goes on with; null before the first piece. */
  private growing: number | null = null;

  constructor(
    readonly worker: string,
    private readonly ask: AskLines,
    private readonly changed: () => void,
  ) {}

  line(n: number): LogLine | undefined {
    return this.pages.get(pageOf(n))?.[(n - 1) % PAGE_LINES];
  }

  /** Loads the end of the log, and with it how many lines there are. */
  async open(lines: number = PAGE_LINES): Promise<void> {
    await this.guarded(() => this.takeEnd(lines));
    this.isOpened = true;
    this.changed();
  }

  /** Makes sure that these lines are loaded or on their way. */
  want(first: number, last: number): void {
    const end = Math.min(last, this.total);
    for (let page = pageOf(Math.max(1, first)); page <= pageOf(Math.max(1, end)); page += 1) void this.load(page);
  }

  /** Where what is printed next is put: the position of the last line, which may not be complete. Loads the end of the
   * log if it is not known, or if so much was printed since that it is not worth reading. */
  async goOn(isFarBehind: boolean): Promise<number> {
    this.growing = null;
    if (isFarBehind || this.lastOffset === undefined) await this.refresh();
    if (this.lastOffset === undefined) throw this.error;
    this.growing = Math.max(1, this.total);
    return this.lastOffset;
  }

  /** A piece of the log. The first one begins with a line, whose number its position tells. */
  feed(offset: number, text: string, at?: string): void {
    this.growing ??= Math.max(1, this.total);
    if (this.line(this.growing)?.offset === offset) this.put({ n: this.growing, offset, text: "", ...(at && { at }) });
    const parts = text.split("\n");
    parts.forEach((part, index) => {
      if (this.growing === null) return;
      if (part || index < parts.length - 1) this.append(this.growing, part, at);
      if (index < parts.length - 1) this.growing += 1;
    });
    this.sizeBytes = Math.max(this.sizeBytes, offset + text.length);
  }

  /** Asks for the end again. */
  async refresh(): Promise<void> {
    await this.guarded(() => this.takeEnd(PAGE_LINES));
    this.changed();
  }

  /** A line that is too long to be shown whole is not read again. */
  private get lastOffset(): number | undefined {
    if (!this.total) return 0;
    const last = this.line(this.total);
    return last?.cutBytes ? this.sizeBytes : last?.offset;
  }

  private append(n: number, part: string, at: string | undefined): void {
    const known = this.line(n);
    const line: LogLine = { ...(at && { at }), ...(known ?? { n }), text: (known?.text ?? "") + part };
    if (line.text.length > LONGEST_OPEN_LINE) line.text = shortened(line.text);
    this.put(line);
    this.total = Math.max(this.total, n);
  }

  /** The last lines; in several answers if they are long. */
  private async takeEnd(lines: number): Promise<void> {
    let answer = await this.ask(-lines, lines);
    this.take(answer);
    for (let last = answer.lines.at(-1); last && last.n < answer.total; last = answer.lines.at(-1)) {
      answer = await this.ask(last.n + 1, lines);
      this.take(answer);
    }
  }

  private take(answer: LinesAnswer): void {
    this.putAll(answer.lines);
    // A stream that has found its place is ahead of what was asked for before it.
    this.total = this.growing === null ? answer.total : Math.max(this.total, answer.total);
    this.droppedBytes = answer.droppedBytes;
    this.sizeBytes = answer.sizeBytes;
    this.isComplete = answer.isComplete;
    this.error = null;
  }

  /** The line that the stream writes, and those behind it, are newer than any answer. */
  private putAll(lines: LogLine[]): void {
    for (const line of lines) if (this.growing === null || line.n < this.growing || !this.line(line.n)) this.put(line);
  }

  private put(line: LogLine): void {
    const number = pageOf(line.n);
    const page = this.pages.get(number) ?? [];
    page[(line.n - 1) % PAGE_LINES] = line;
    this.pages.delete(number); // the newest are last, so that the oldest are found first
    this.pages.set(number, page);
    for (const oldest of this.pages.keys()) {
      if (this.pages.size <= KEPT_PAGES) break;
      this.pages.delete(oldest);
    }
  }

  private async load(page: number): Promise<void> {
    if (this.asked.has(page)) return;
    const last = Math.min((page + 1) * PAGE_LINES, this.total);
    let next = this.firstMissing(page, last);
    if (next === null) return;
    this.asked.add(page);
    await this.guarded(async () => {
      while (next !== null) {
        const answer = await this.ask(next, last - next + 1);
        if (!answer.lines.length) break;
        this.putAll(answer.lines);
        const missing = this.firstMissing(page, last);
        if (missing !== null && missing <= next) break;
        next = missing;
      }
    });
    this.asked.delete(page);
    this.changed();
  }

  private firstMissing(page: number, last: number): number | null {
    const lines = this.pages.get(page);
    for (let n = page * PAGE_LINES + 1; n <= last; n += 1) if (!lines?.[(n - 1) % PAGE_LINES]) return n;
    return null;
  }

  private async guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.error = error;
    }
  }
}

const pageOf = (n: number): number => Math.floor((n - 1) / PAGE_LINES);

/** A line that never ends, as a progress bar is, keeps its last frame and a bounded length. */
function shortened(text: string): string {
  return foldReturns(text).slice(-LONGEST_OPEN_LINE / 2);
}
