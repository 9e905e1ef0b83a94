import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import type { Node, Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useLiveNodes } from "@/pages/cluster/live_nodes";

export interface Machines {
  /** Those that are reached by SSH. */
  added: Node[];
  /** The cluster that a new one joins. */
  cluster: string;
}

/** The machines of SSH clusters, live: the first one comes with a cluster of its own. */
export function useMachines(): Machines {
  const client = useQueryClient();
  const nodes = useQuery(queries.nodes()).data?.items ?? [];
  const clusters = useQuery(queries.clusters()).data?.items;
  useLiveNodes();
  const isUnknown = !!clusters && nodes.some((node) => !clusters.some(({ name }) => name === node.cluster));
  useEffect(() => {
    if (isUnknown) void client.invalidateQueries({ queryKey: ["clusters"] });
  }, [client, isUnknown]);
  return machinesOf(nodes, clusters ?? []);
}

export function machinesOf(nodes: readonly Node[], clusters: readonly Schemas["ClusterOut"][]): Machines {
  const bySsh = clusters.filter(({ backend }) => backend === "ssh").map(({ name }) => name);
  const fresh = ["lab", "machines"].find((name) => !clusters.some((each) => each.name === name)) ?? "ssh";
  return { added: nodes.filter((node) => bySsh.includes(node.cluster)), cluster: bySsh[0] ?? fresh };
}
