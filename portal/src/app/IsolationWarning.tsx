import { Alert } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { useIsAdmin } from "./session";
import { queries } from "@/api/queries";
import { fill, useWords } from "@/words/language";

/** Tells admins which clusters do not keep the tasks of different users apart, once there are other users. */
export function IsolationWarning() {
  const words = useWords();
  const isAdmin = useIsAdmin();
  const clusters = useQuery({ ...queries.clusters(), enabled: isAdmin });
  const users = useQuery({ ...queries.users(), enabled: isAdmin });
  const open =
    clusters.data?.items.filter((cluster) => cluster.isolation?.mode === "none").map(({ name }) => name) ?? [];
  const isShared = users.data?.items.some((user) => user.role !== "admin" && !user.disabled) ?? false;
  if (!isAdmin || !isShared || open.length === 0) return null;
  return <Alert color="orange" mb="sm" title={fill(words.shell.notIsolated, { clusters: open.join(", ") })} />;
}
