import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { useLive, type NodesChange } from "@/api/live";
import { SELDOM, usePaced } from "@/api/pacing";
import { queries } from "@/api/queries";

/** What the stream tells of this node is shown at once. Its tasks are asked for again when their number changes, and
 * seldom for what they use. */
export function useLiveNode(name: string, cluster: string | undefined): void {
  const client = useQueryClient();
  const askForTasks = usePaced(
    useCallback(
      () => void client.invalidateQueries({ queryKey: queries.node(name, cluster).queryKey, exact: true }),
      [client, name, cluster],
    ),
    SELDOM,
  );
  const listener = useCallback(
    ({ nodes }: NodesChange) => {
      const found = nodes.find((node) => node.name === name && (!cluster || node.cluster === cluster));
      if (!found) return;
      const { queryKey } = queries.node(name, cluster);
      const before = client.getQueryData(queryKey);
      client.setQueryData(queryKey, (old) => old && { ...old, ...found });
      if (before?.tasks !== found.tasks) void client.invalidateQueries({ queryKey, exact: true });
      else if (found.tasks > 0) askForTasks();
      void client.invalidateQueries({ queryKey: [...queryKey, "usage"] });
    },
    [client, name, cluster, askForTasks],
  );
  useLive("nodes", "nodes", listener);
}
