import type { Query, QueryClient } from "@tanstack/react-query";

import { live } from "./live";

/**
 * An answer and a stream that begins after it must not leave a gap: what changes between them is told by neither. Events
 * have numbers, and each answer says how many there were before it. When the stream begins to tell about something new
 * on the page, whatever was answered before the first event that it tells is asked for again.
 */
export function watchForGaps(client: QueryClient): void {
  const cache = client.getQueryCache();
  const started = new Map<string, number>(); // 0 before the first number was heard
  const upTo = new Map<string, number>();
  cache.subscribe((event) => {
    const hash = event.query.queryHash;
    if (event.type === "removed") {
      started.delete(hash);
      upTo.delete(hash);
    } else if (event.type === "updated" && event.action.type === "fetch") {
      started.set(hash, live.known);
    } else if (event.type === "updated" && event.action.type === "success") {
      const before = event.action.manual ? live.known : (started.get(hash) ?? 0);
      upTo.set(hash, before > 0 ? before : live.baseline);
    }
  });
  live.onCovered((from) => {
    const behind = cache.findAll({ type: "active", predicate: isLive }).filter(hasData(upTo, from));
    if (behind.some((query) => query.meta?.asksItself)) live.resync();
    else behind.forEach((query) => void client.invalidateQueries({ queryKey: query.queryKey, exact: true }));
  });
}

const isLive = (query: Query): boolean => query.observers.some(({ options }) => options.staleTime !== Infinity);

const hasData =
  (upTo: Map<string, number>, from: number) =>
  ({ queryHash, state }: Query): boolean =>
    state.data !== undefined && (upTo.get(queryHash) ?? 0) < from;
