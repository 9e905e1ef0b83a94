import { useQueryClient } from "@tanstack/react-query";
import { useCallback } from "react";

import type { Schemas } from "@/api/client";
import { useLive, type NodesChange } from "@/api/live";
import { queries } from "@/api/queries";

/** Puts what the stream tells of nodes into the list; nodes that did not change stay the same objects. */
export function useLiveNodes(): void {
  const client = useQueryClient();
  const listener = useCallback(
    (change: NodesChange) =>
      client.setQueryData(
        queries.nodes().queryKey,
        (old: Schemas["NodeList"] | undefined) => old && merged(old, change),
      ),
    [client],
  );
  useLive("nodes", "nodes", listener);
}

export function merged(list: Schemas["NodeList"], { nodes, gone }: NodesChange): Schemas["NodeList"] {
  const key = (node: { cluster: string; name: string }) => `${node.cluster}/${node.name}`;
  const changed = new Map(nodes.map((node) => [key(node), node]));
  const left = new Set(gone.map(key));
  const kept = list.items.filter((node) => !left.has(key(node)));
  const items = kept.map((node) => {
    const found = changed.get(key(node));
    changed.delete(key(node));
    return found ?? node;
  });
  return { ...list, items: [...items, ...changed.values()] };
}
