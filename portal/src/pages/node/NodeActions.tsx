import { Button, Group, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Node } from "@/api/client";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { fill, useWords } from "@/words/language";

export type NodeAct = "cordon" | "uncordon" | "drain" | "drainNow" | "reconnect" | "remove";

/** A node that cannot be reached by SSH may have been added with a wrong address or key. */
export function actsOf(node: Pick<Node, "state" | "login">): NodeAct[] {
  const isHeldBack = node.state === "Cordoned" || node.state === "Draining";
  const acts: NodeAct[] = isHeldBack ? ["uncordon"] : ["cordon", "drain", "drainNow"];
  if (node.state !== "Unreachable") return acts;
  return node.login ? [...acts, "reconnect", "remove"] : [...acts, "reconnect"];
}

interface NodeActionsProps {
  node: Node;
  acts: NodeAct[];
  onRemoved?: () => void;
}

/** What an admin can do with a node. Each act is confirmed, and shows the command that does the same. */
export function NodeActions({ node, acts, onRemoved }: NodeActionsProps) {
  const words = useWords();
  const [act, setAct] = useState<NodeAct | null>(null);
  const close = (isDone: boolean) => {
    setAct(null);
    if (isDone && act === "remove") onRemoved?.();
  };
  return (
    <Group gap={6}>
      {acts.map((each) => (
        <Button key={each} variant="default" onClick={() => setAct(each)}>
          {words.node.acts[each]}
        </Button>
      ))}
      {act && <Confirm node={node} act={act} onClose={close} />}
    </Group>
  );
}

function Confirm({ node, act, onClose }: { node: Node; act: NodeAct; onClose: (isDone: boolean) => void }) {
  const words = useWords();
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const doing = useMutation({
    mutationFn: () => perform(node, act, reason),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["nodes"] });
      onClose(true);
    },
  });
  return (
    <ConfirmDialog
      isOpen
      title={fill(words.node.confirm[act], { name: node.name })}
      commands={[commandOf(node, act, reason)]}
      confirm={words.node.acts[act]}
      isDangerous={act === "drainNow" || act === "remove"}
      isPending={doing.isPending}
      error={doing.error}
      onConfirm={() => doing.mutate()}
      onClose={() => onClose(false)}
    >
      {takesReason(act) && (
        <TextInput
          label={words.node.reason}
          value={reason}
          onChange={(event) => setReason(event.currentTarget.value)}
        />
      )}
    </ConfirmDialog>
  );
}

const takesReason = (act: NodeAct): boolean => act !== "uncordon" && act !== "reconnect" && act !== "remove";

export function commandOf(node: Node, act: NodeAct, reason: string): string {
  const words = [
    "muster",
    "node",
    act === "drainNow" ? "drain" : act,
    quoted(node.name),
    "--cluster",
    quoted(node.cluster),
  ];
  if (act === "drainNow") words.push("--now");
  if (takesReason(act) && reason) words.push("--reason", quoted(reason));
  return words.join(" ");
}

function perform(node: Node, act: NodeAct, reason: string): Promise<unknown> {
  const params = { path: { name: node.name }, query: { cluster: node.cluster } };
  switch (act) {
    case "cordon":
      return answer(api.POST("/api/v1/nodes/{name}/cordon", { params, body: { reason } }));
    case "uncordon":
      return answer(api.POST("/api/v1/nodes/{name}/uncordon", { params }));
    case "drain":
    case "drainNow":
      return answer(api.POST("/api/v1/nodes/{name}/drain", { params, body: { reason, now: act === "drainNow" } }));
    case "reconnect":
      return answer(api.POST("/api/v1/nodes/{name}/reconnect", { params }));
    case "remove":
      return answer(api.DELETE("/api/v1/nodes/{name}", { params }));
  }
}
