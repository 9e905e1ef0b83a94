import { useEffect, useSyncExternalStore } from "react";

import type { Schemas } from "./client";
import type { FromHub } from "./liveHub";
import { linkToHub, type LiveLink } from "./liveLink";
import type { Refusal } from "./liveStream";

/**
 * What this window hears of the one event stream. Pages say which topics they show; the stream carries just those of
 * windows that are seen, is shared by all windows of the browser, and is opened again when the connection breaks.
 */
export type LiveChanges = Omit<Schemas["LiveEventsOut"], "ready">;
export type JobsChange = LiveChanges["jobs"];
export type JobChange = LiveChanges["job"];
export type NodesChange = LiveChanges["nodes"];
export type LogsChange = LiveChanges["logs"];
export type LiveEvent = keyof LiveChanges;
export type LiveState =
  { kind: "off" } | { kind: "connecting" } | { kind: "live" } | { kind: "stale"; since: Date; refusal: Refusal | null };

type Listener = (change: never) => void;

const TOGETHER_MS = 20; // what a page subscribes to at once is said at once

class LiveEvents {
  /** The number of the last event that this window has heard of. */
  known = 0;
  /** The smallest number that an answer came with before the first stream: what it shows is at least as new. */
  baseline = 0;
  private topics = new Map<string, number>();
  private listeners = new Map<LiveEvent, Set<Listener>>();
  private watchers = new Set<() => void>();
  private link: LiveLink | null = null;
  private said = "";
  private timer = 0;
  /** The number up to which this window was told everything about the topics that are covered. */
  private told = 0;
  private covered = new Set<string>();
  private readonly covers = new Set<(from: number) => void>();
  private readonly broken = new Set<() => void>();
  private readonly back = new Set<() => void>();
  private state: LiveState = { kind: "off" };

  constructor() {
    document.addEventListener("visibilitychange", () => this.adjust(0));
  }

  /** Returns what ends the subscription. */
  subscribe<E extends LiveEvent>(topic: string, event: E, listener: (change: LiveChanges[E]) => void): () => void {
    this.topics.set(topic, (this.topics.get(topic) ?? 0) + 1);
    const listeners = this.listeners.get(event) ?? new Set();
    listeners.add(listener);
    this.listeners.set(event, listeners);
    this.adjust(TOGETHER_MS);
    return () => {
      const left = (this.topics.get(topic) ?? 1) - 1;
      if (left > 0) this.topics.set(topic, left);
      else this.topics.delete(topic);
      listeners.delete(listener);
      this.adjust(TOGETHER_MS);
    };
  }

  /** Calls the listener whenever changes may have been missed, whatever the page shows. */
  onResync(listener: () => void): void {
    const listeners = this.listeners.get("resync") ?? new Set();
    listeners.add(listener);
    this.listeners.set("resync", listeners);
  }

  /** Takes note of the number that an answer came with. */
  heard(event: number): void {
    if (!event) return;
    this.known = Math.max(this.known, event);
    if (!this.told) this.baseline = this.baseline ? Math.min(this.baseline, event) : event;
  }

  /** Calls the listener when more is told than before, with the number of the event before it. Returns what ends it. */
  onCovered(listener: (from: number) => void): () => void {
    this.covers.add(listener);
    return () => this.covers.delete(listener);
  }

  /** Has everything asked for again. */
  resync(): void {
    this.pass("resync", "{}");
  }

  /** Calls the listener when a stream has ended or was refused, which the server also does to a login that is over. */
  onBroken(listener: () => void): void {
    this.broken.add(listener);
  }

  /** Calls the listener when there is a stream again after one has broken. */
  onBack(listener: () => void): void {
    this.back.add(listener);
  }

  watch = (watcher: () => void): (() => void) => {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  };

  current = (): LiveState => this.state;

  private adjust(delay: number): void {
    window.clearTimeout(this.timer);
    this.timer = window.setTimeout(() => this.say(), delay);
  }

  private say(): void {
    const topics = document.hidden ? [] : [...this.topics.keys()].sort();
    const said = topics.join(",");
    if (said === this.said) return;
    this.said = said;
    this.link ??= linkToHub((message) => this.hear(message));
    this.link({ topics, after: this.told || this.baseline });
    if (!said) this.become({ kind: "off" });
    else if (this.state.kind === "off") this.become({ kind: "connecting" });
  }

  private hear(message: FromHub): void {
    if (!this.said) return; // it was on its way when this window was hidden
    if (message.kind === "broken") this.isBroken(message.refusal);
    else if (message.kind === "live") this.isLive(message.topics, message.from);
    else {
      this.told = Math.max(this.told, message.last);
      this.known = Math.max(this.known, message.last);
      this.pass(message.event as LiveEvent, message.data);
    }
  }

  private isLive(topics: string[], from: number | null): void {
    const isMore = from !== null && (from > this.told || topics.some((topic) => !this.covered.has(topic)));
    this.covered = new Set(topics);
    if (from !== null) this.told = Math.max(this.told, from);
    this.known = Math.max(this.known, this.told);
    const wasBroken = this.state.kind === "stale";
    this.become({ kind: "live" });
    if (isMore) this.covers.forEach((listener) => listener(from));
    if (wasBroken) this.back.forEach((listener) => listener());
  }

  private isBroken(refusal: Refusal | null): void {
    const since = this.state.kind === "stale" ? this.state.since : new Date();
    this.become({ kind: "stale", since, refusal });
    this.broken.forEach((listener) => listener());
  }

  private pass(event: LiveEvent, data: string): void {
    const listeners = this.listeners.get(event);
    if (!listeners?.size) return;
    const change = JSON.parse(data) as never;
    listeners.forEach((listener) => listener(change));
  }

  private become(state: LiveState): void {
    this.state = state;
    this.watchers.forEach((watcher) => watcher());
  }
}

export const live = new LiveEvents();

export const useLiveState = (): LiveState => useSyncExternalStore(live.watch, live.current);

/** Calls the listener for each change while the component is shown. The listener must be stable (useCallback).
 * An empty topic is none. */
export function useLive<E extends LiveEvent>(
  topic: string,
  event: E,
  listener: (change: LiveChanges[E]) => void,
): void {
  useEffect(() => (topic ? live.subscribe(topic, event, listener) : undefined), [topic, event, listener]);
}
