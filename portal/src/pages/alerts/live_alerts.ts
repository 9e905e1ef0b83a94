import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { SOON, useHint } from "@/api/pacing";

/** Asks for the alerts again when the server says that they may have changed. */
export function useLiveAlerts(): void {
  const client = useQueryClient();
  const act = useCallback(() => void client.invalidateQueries({ queryKey: ["alerts"] }), [client]);
  useHint("alerts", act, SOON);
}
