import type { LinkProps } from "@tanstack/react-router";

import type { Schemas } from "@/api/client";

/** An alert, or one of a rule, which has no kind. */
type About = Pick<Schemas["AlertOut"], "subject"> & Partial<Pick<Schemas["AlertOut"], "kind">>;
type Place = Pick<LinkProps, "to" | "params" | "search">;

/** The page of what the alert is about; null where there is none. */
export function subjectOf(alert: About): Place | null {
  const { type, name, cluster, id } = alert.subject;
  if (alert.kind === "cluster-file") return { to: "/admin", search: { tab: "files", file: name } };
  switch (type) {
    case "node":
      return nodeAt(name, cluster);
    case "gpu":
      return nodeAt(name.slice(0, Math.max(name.lastIndexOf("/"), 0)) || name, cluster);
    case "cluster":
      return { to: "/cluster", search: { cluster: name } };
    case "job":
      return id ? { to: "/jobs/$ref", params: { ref: id } } : null;
    case "server":
      return { to: "/admin", search: { tab: "health" } };
  }
}

const nodeAt = (name: string, cluster: string | null): Place => ({
  to: "/nodes/$name",
  params: { name },
  search: cluster ? { cluster } : {},
});
