import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { useLive } from "@/api/live";

/** Asks for the alerts again when the server says that they may have changed. */
export function useLiveAlerts(): void {
  const client = useQueryClient();
  const listener = useCallback(
    ({ topics }: { topics: string[] }) => {
      if (topics.includes("alerts")) void client.invalidateQueries({ queryKey: ["alerts"] });
    },
    [client],
  );
  useLive("alerts", "changed", listener);
}
