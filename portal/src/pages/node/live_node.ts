import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import { useLive, type NodesChange } from "@/api/live";
import { queries } from "@/api/queries";

/** What the stream tells of this node is shown at once; its tasks are asked for again when their number changes. */
export function useLiveNode(name: string, cluster: string | undefined): void {
  const client = useQueryClient();
  const listener = useCallback(
    ({ nodes }: NodesChange) => {
      const found = nodes.find((node) => node.name === name && (!cluster || node.cluster === cluster));
      if (!found) return;
      const { queryKey } = queries.node(name, cluster);
      const before = client.getQueryData(queryKey);
      client.setQueryData(queryKey, (old) => old && { ...old, ...found });
      if (before?.tasks !== found.tasks) void client.invalidateQueries({ queryKey, exact: true });
      void client.invalidateQueries({ queryKey: [...queryKey, "usage"] });
    },
    [client, name, cluster],
  );
  useLive("nodes", "nodes", listener);
}
