/** What the address of the admin page says. */
export const TABS = ["users", "groups", "tokens", "limits", "files", "alerts", "audit", "log", "health"] as const;
export type Tab = (typeof TABS)[number];

export interface AdminView {
  tab?: Tab;
  /** The cluster file that is open; `+` is one that does not exist yet. */
  file?: string;
  text?: string;
  actor?: string;
  /** Whose limits are shown; everybody's without it. */
  user?: string;
  kind?: string;
  since?: Since;
  level?: Level;
}

export const SINCES = ["1h", "1d", "7d", "30d"] as const;
export type Since = (typeof SINCES)[number];
export const LEVELS = ["all", "warning", "error"] as const;
export type Level = (typeof LEVELS)[number];
export const NEW_FILE = "+";

export function readAdminView(search: Record<string, unknown>): AdminView {
  const view: AdminView = {};
  const tab = TABS.find((each) => each === search.tab);
  if (tab) view.tab = tab;
  for (const name of ["file", "text", "actor", "user", "kind"] as const) {
    const value = search[name];
    if (typeof value === "string" && value) view[name] = value;
    else if (typeof value === "number") view[name] = String(value);
  }
  const since = SINCES.find((each) => each === search.since);
  if (since) view.since = since;
  const level = LEVELS.find((each) => each === search.level);
  if (level && level !== "all") view.level = level;
  return view;
}
