import { openStream, type Refusal } from "./liveStream";
import type { ServerEvent } from "./serverEvents";

/** What a window says: what it listens to, nothing while it is hidden, and the last event that it was told before. */
export interface ToHub {
  topics: string[];
  after: number;
}

/** What a window is told. */
export type FromHub =
  /** There is a stream. `from`: whatever comes after this event is told; null if nothing has been missed. */
  | { kind: "live"; topics: string[]; from: number | null }
  | { kind: "event"; event: string; data: string; last: number }
  | { kind: "broken"; refusal: Refusal | null };

export interface HubMember {
  tell: (message: FromHub) => void;
}

interface Listening {
  topics: string[];
  after: number;
  isCovered: boolean;
}

const MOST_TOPICS = 64; // the server takes no more
const REOPEN_MS = 50; // windows and pages that change together cause one new stream
const RETRY_MS = 1_000;
const REFUSED_MS = 3_000;

/**
 * The one stream of all windows of a browser: browsers open few connections to a server, and a stream keeps one. It has
 * the topics of all windows, goes on where it was when they change, and everything it tells is told to all of them.
 */
export class LiveHub {
  private readonly members = new Map<HubMember, Listening>();
  private opened = new Set<string>();
  private close: (() => void) | null = null;
  private isLive = false;
  private last = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;

  listen(member: HubMember, { topics, after }: ToHub): void {
    const before = this.members.get(member);
    if (!topics.length) this.members.delete(member);
    else {
      const isCovered = Boolean(before?.isCovered) && topics.every((topic) => before?.topics.includes(topic));
      this.members.set(member, { topics, after, isCovered });
      if (this.isLive && topics.every((topic) => this.opened.has(topic))) this.cover(member, this.last);
    }
    this.adjust(REOPEN_MS);
  }

  private adjust(delay: number): void {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), delay);
  }

  private open(): void {
    const all = new Set([...this.members.values()].flatMap(({ topics }) => topics));
    const wanted = new Set([...all].slice(0, MOST_TOPICS));
    const isSame = wanted.size === this.opened.size && [...wanted].every((topic) => this.opened.has(topic));
    if (isSame && this.close) return;
    const start = this.position();
    this.end();
    this.opened = wanted;
    this.last = start;
    if (!wanted.size) return;
    this.close = openStream([...wanted].sort().join(","), start, {
      onReady: (seq) => this.begin(start || seq),
      onEvent: (event) => this.pass(event),
      onBroken: (refusal) => this.isBroken(refusal),
    });
  }

  /** Where the next stream begins: behind what was told, or else behind what the windows have asked for before. Those
   * that know more are told some of it again, which does no harm. */
  private position(): number {
    const listening = [...this.members.values()];
    if (listening.some(({ isCovered }) => isCovered)) return this.last;
    const known = listening.map(({ after }) => after).filter((after) => after > 0);
    return known.length ? Math.min(...known) : 0;
  }

  private begin(from: number): void {
    this.isLive = true;
    this.last = Math.max(this.last, from);
    for (const member of this.members.keys()) this.cover(member, from);
  }

  private cover(member: HubMember, from: number): void {
    const listening = this.members.get(member);
    if (!listening) return;
    const { topics, isCovered } = listening;
    if (!topics.every((topic) => this.opened.has(topic))) return; // the next stream has them
    listening.isCovered = true;
    member.tell({ kind: "live", topics, from: isCovered ? null : from });
  }

  private pass({ event, data, id }: ServerEvent): void {
    if (id) this.last = Number(id);
    if (!event || event === "ready") return;
    for (const member of this.members.keys()) member.tell({ kind: "event", event, data, last: this.last });
  }

  /** A stream that is opened again goes on where the last one ended, or begins with a resync if that is too long ago. */
  private isBroken(refusal: Refusal | null): void {
    this.end();
    for (const member of this.members.keys()) member.tell({ kind: "broken", refusal });
    this.adjust(refusal ? REFUSED_MS : RETRY_MS);
  }

  private end(): void {
    this.close?.();
    this.close = null;
    this.isLive = false;
  }
}
