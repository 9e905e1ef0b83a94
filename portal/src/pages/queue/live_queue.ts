import { useDebouncedValue } from "@mantine/hooks";
import { useQueryClient, type QueryKey } from "@tanstack/react-query";
import { useCallback } from "react";

import { useHint, type Pace } from "@/api/pacing";

/** A job that is placed at once needs no other topics in the stream, which would be opened anew for them. */
const WAITS_MS = 3_000;

/**
 * Asks again, at the given pace, for what depends on who waits and who runs. `keys` must stay the same object. While
 * nobody waits who is on this page, `isOn` is false, and the stream does not carry the topic for it.
 */
export function useLiveQueue(keys: readonly QueryKey[], pace: Pace, isOn = true): void {
  const client = useQueryClient();
  const [hasWaited] = useDebouncedValue(isOn, WAITS_MS);
  const act = useCallback(
    () => keys.forEach((queryKey) => void client.invalidateQueries({ queryKey })),
    [client, keys],
  );
  useHint(isOn && hasWaited ? "queue" : "", act, pace);
}
