import { Anchor, List, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import type { Node } from "@/api/client";
import { useIsAdmin } from "@/app/session";
import { NodeActions } from "@/pages/node/NodeActions";
import { StateBadge } from "@/parts/StateBadge";
import { WithCode } from "@/parts/WithCode";
import { useWords } from "@/words/language";

/** Machines that were added but cannot be used yet, with the reason, and the way to add one again. */
export function NotReady({ nodes }: { nodes: Node[] }) {
  const words = useWords();
  const isAdmin = useIsAdmin();
  return (
    <>
      <Text size="sm">{words.welcome.nodeWaiting}</Text>
      <List size="sm" spacing={6} listStyleType="none">
        {nodes.map((node) => (
          <List.Item key={`${node.cluster}/${node.name}`}>
            <Anchor
              size="sm"
              mr={8}
              renderRoot={(props) => (
                <Link {...props} to="/nodes/$name" params={{ name: node.name }} search={{ cluster: node.cluster }} />
              )}
            >
              {node.name}
            </Anchor>
            <StateBadge state={node.state} />
            {node.note && (
              <Text size="sm">
                <WithCode text={node.note} />
              </Text>
            )}
            {isAdmin && node.state === "Unreachable" && (
              <>
                <Text size="xs" className="soft" mb={4}>
                  {words.welcome.nodeAgain}
                </Text>
                <NodeActions node={node} acts={["reconnect", "remove"]} />
              </>
            )}
          </List.Item>
        ))}
      </List>
    </>
  );
}
