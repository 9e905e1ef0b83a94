import { Alert } from "@mantine/core";
import { notifyManager, useQueryClient, type QueryClient, type QueryKey } from "@tanstack/react-query";
import { useCallback, useSyncExternalStore } from "react";

import { isPassing } from "@/api/client";
import { timeText } from "@/parts/amounts";
import { fill, useLanguage } from "@/words/language";

interface Fetched {
  data: unknown;
  error: Error | null;
}

/** Why there is nothing to show. Data that could not be brought up to date is shown as it is, with a notice. */
export const obstacleOf = ({ data, error }: Fetched): Error | null =>
  error && (data === undefined || !isPassing(error)) ? error : null;

/** Says from when the data is, if any that is shown under this key could not be asked for again. */
export function StaleNotice({ of }: { of: QueryKey }) {
  const { language, words } = useLanguage();
  const client = useQueryClient();
  const subscribe = useCallback(
    (changed: () => void) => client.getQueryCache().subscribe(notifyManager.batchCalls(changed)),
    [client],
  );
  const oldest = useSyncExternalStore(subscribe, () => oldestOf(client, of));
  if (!oldest) return null;
  return (
    <Alert color="yellow" role="status">
      {words.common.unreachable} {fill(words.common.dataOf, { time: timeText(language, new Date(oldest)) })}
    </Alert>
  );
}

/** When the oldest data was received that could not be asked for again; 0 if all is well. */
function oldestOf(client: QueryClient, queryKey: QueryKey): number {
  const stale = client
    .getQueryCache()
    .findAll({ queryKey, type: "active" })
    .filter(({ state }) => state.data !== undefined && isPassing(state.error));
  return stale.length ? Math.min(...stale.map(({ state }) => state.dataUpdatedAt)) : 0;
}
