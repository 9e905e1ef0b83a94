import { Alert, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { AlertLine } from "@/pages/alerts/AlertLine";
import { subjectOf } from "@/pages/alerts/subjects";

/** What is wrong on the node and on its GPUs. What only the node itself tells stands in the server's words. */
export function NodeAlerts({ node }: { node: Schemas["NodeDetailOut"] }) {
  const all = useQuery(queries.alerts()).data?.items ?? [];
  const own = all.filter((alert) => alert.subject.cluster === node.cluster && isAbout(alert, node.name));
  if (own.length === 0) return node.alerts.map((alert) => <Alert key={alert} color="red" p="xs" title={alert} />);
  return (
    <Alert color="red" p="xs">
      <Stack gap={6}>
        {own.map((alert) => (
          <AlertLine key={alert.id} alert={alert} />
        ))}
      </Stack>
    </Alert>
  );
}

function isAbout(alert: Schemas["AlertOut"], node: string): boolean {
  const place = subjectOf(alert);
  return place?.to === "/nodes/$name" && (place.params as { name: string }).name === node;
}
