import { Button, Checkbox, Group, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";

import { addNodeCommand, type NewNode } from "./commands";
import { answer, api } from "@/api/client";
import { Command } from "@/parts/Command";
import { ProblemBox } from "@/parts/feedback";
import { useWords } from "@/words/language";

const EMPTY: NewNode = { name: "", ssh: "", keyFile: "", trusts: false };

/** Adds a machine to an SSH cluster. The server connects to it, and says in its state whether it could. */
export function AddNode({ cluster }: { cluster: string }) {
  const words = useWords();
  const client = useQueryClient();
  const [node, setNode] = useState(EMPTY);
  const adding = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/api/v1/clusters/{cluster}/nodes", {
          params: { path: { cluster } },
          body: {
            name: node.name,
            ssh: node.ssh,
            ...(node.keyFile && { keyFile: node.keyFile }),
            ...(node.trusts && { hostKeys: "first-use" as const }),
          },
        }),
      ),
    onSuccess: () => {
      setNode(EMPTY);
      void client.invalidateQueries({ queryKey: ["nodes"] });
      void client.invalidateQueries({ queryKey: ["clusters"] });
    },
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    adding.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs">
        <Group gap="xs" align="start">
          <TextInput
            label={words.welcome.nodeName}
            placeholder="gpu1"
            value={node.name}
            onChange={(event) => setNode({ ...node, name: event.currentTarget.value })}
          />
          <TextInput
            label={words.welcome.nodeSsh}
            placeholder="ubuntu@10.0.0.7"
            value={node.ssh}
            onChange={(event) => setNode({ ...node, ssh: event.currentTarget.value })}
          />
        </Group>
        <TextInput
          label={words.welcome.nodeKey}
          description={words.welcome.nodeKeyHint}
          value={node.keyFile}
          onChange={(event) => setNode({ ...node, keyFile: event.currentTarget.value })}
        />
        <Checkbox
          label={words.welcome.nodeTrust}
          checked={node.trusts}
          onChange={(event) => setNode({ ...node, trusts: event.currentTarget.checked })}
        />
        {adding.error && <ProblemBox error={adding.error} />}
        <Button type="submit" w="fit-content" disabled={!node.name || !node.ssh} loading={adding.isPending}>
          {words.welcome.nodeAdd}
        </Button>
        <Command line={addNodeCommand(node, cluster)} />
      </Stack>
    </form>
  );
}
