export interface DiffLine {
  kind: "added" | "removed" | "head" | "same";
  text: string;
}

/** The lines of `diff -u`, each with what it is. The sign at the beginning stays, so that colour is not all there is. */
export function diffLines(diff: string): DiffLine[] {
  return diff
    .replace(/\n$/, "")
    .split("\n")
    .map((text) => ({ kind: kindOf(text), text }));
}

function kindOf(text: string): DiffLine["kind"] {
  if (/^(\+\+\+|---|@@)/.test(text)) return "head";
  if (text.startsWith("+")) return "added";
  return text.startsWith("-") ? "removed" : "same";
}
