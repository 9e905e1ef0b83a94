import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useMemo, useRef } from "react";

import { entryOf, joined } from "./entries";
import { answer, api, type Schemas } from "@/api/client";
import { useLive, type LiveChanges } from "@/api/live";
import { queries } from "@/api/queries";

type Page = Schemas["ServerLogPage"];
type More = Pick<Page, "items" | "nextCursor">;

const KEY = queries.serverLog().queryKey;

/** The newest entries of the server's log. While they are followed, they come by the stream of all windows; what it has
 * not told, because it began later or too much was written, is asked for. */
export function useServerLog(isFollowing: boolean) {
  const client = useQueryClient();
  const log = useQuery(queries.serverLog());
  const isAsking = useRef(false);
  const entries = useMemo(() => log.data?.items.map(entryOf) ?? [], [log.data]);

  const onChange = useCallback(
    ({ after, items, nextCursor }: LiveChanges["serverLog"]) => {
      const here = client.getQueryData<Page>(KEY)?.nextCursor;
      if (!here || isAsking.current || nextCursor === here) return;
      const take = (more: More) =>
        client.setQueryData<Page>(KEY, (old) => (old?.nextCursor === here ? grown(old, more) : old));
      if (after === here) {
        take({ items, nextCursor });
        return;
      }
      isAsking.current = true;
      void pageAfter(here)
        .then(take)
        .catch(() => undefined) // the next entry has it asked for again
        .finally(() => (isAsking.current = false));
    },
    [client],
  );
  useLive(isFollowing && log.data ? "server-log" : "", "serverLog", onChange);
  return { log, entries };
}

const grown = (old: Page, { items, nextCursor }: More): Page => ({
  ...old,
  items: joined(old.items, items),
  nextCursor,
});

const pageAfter = async (cursor: string): Promise<Page> =>
  (await answer(api.GET("/api/v1/server/log", { params: { query: { cursor } } }))) as Page;
