/** What an act or a log entry carries besides its usual fields, as `name=value` in one line. */
export function aboutText(data: Readonly<Record<string, unknown>>, jobId?: string | null): string {
  const parts = Object.entries(data)
    .filter(([, value]) => value !== null && value !== "")
    .map(([name, value]) => `${name}=${typeof value === "string" ? value : JSON.stringify(value)}`);
  if (jobId && !parts.some((part) => part.includes(jobId))) parts.unshift(`job=${jobId}`);
  return parts.join("  ");
}

export interface LogEntry {
  at: string;
  level: string;
  event: string;
  rest: string;
}

const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** One entry of the server's log. */
export function entryOf(raw: Readonly<Record<string, unknown>>): LogEntry {
  const { timestamp, level, event, ...rest } = raw;
  return { at: text(timestamp), level: text(level), event: text(event), rest: aboutText(rest) };
}

const RANKS: Readonly<Record<string, number>> = { debug: 0, info: 1, warning: 2, error: 3, critical: 3 };

/** Whether the entry is at least as grave as what is asked for. */
export const isGrave = (entry: LogEntry, least: "all" | "warning" | "error"): boolean =>
  least === "all" || (RANKS[entry.level] ?? 1) >= (RANKS[least] ?? 0);

/** The newest entries that a page keeps while it follows. */
export const MOST_ENTRIES = 2_000;

export const joined = <T>(old: readonly T[], more: readonly T[]): T[] => [...old, ...more].slice(-MOST_ENTRIES);
