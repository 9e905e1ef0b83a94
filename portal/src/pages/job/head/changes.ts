import { quoted } from "@/parts/Command";

/** Changes as people write them, one `path=value` per line. */
export interface Changes {
  set: Record<string, unknown>;
  params: Record<string, unknown>;
}

export const linesOf = (text: string): string[] =>
  text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean);

const isChange = (line: string): boolean => /^[^=\s]+=/.test(line);

/** The lines that are no change; nothing is asked or changed while there are some. */
export const notChanges = (text: string): string[] => linesOf(text).filter((line) => !isChange(line));

export function readChanges(text: string): Changes {
  const changes: Changes = { set: {}, params: {} };
  for (const line of linesOf(text)) {
    const at = line.indexOf("=");
    if (at < 1) continue;
    const [path, value] = [line.slice(0, at), valueOf(line.slice(at + 1))];
    if (path.startsWith("params.")) changes.params[path.slice("params.".length)] = value;
    else changes.set[path] = value;
  }
  return changes;
}

/** Numbers, true, false, lists and objects are themselves; everything else is text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

export function changeOptions(text: string): string[] {
  return linesOf(text).map((line) =>
    line.startsWith("params.") ? `--param ${quoted(line.slice("params.".length))}` : `--set ${quoted(line)}`,
  );
}
