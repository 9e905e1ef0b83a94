/** A line of a comparison: in both texts, only in the first (`gone`), or only in the second (`new`). */
export interface DiffLine {
  kind: "same" | "gone" | "new";
  text: string;
}

const MOST_LINES = 3_000;

/**
 * What was removed from the one text and added in the other, line by line, by the longest common subsequence. Texts
 * beyond the limit are shown as removed and added as a whole.
 */
export function diffLines(before: string, after: string): DiffLine[] {
  const [left, right] = [linesOf(before), linesOf(after)];
  let start = 0;
  while (start < left.length && start < right.length && left[start] === right[start]) start += 1;
  let end = 0;
  while (
    end < left.length - start &&
    end < right.length - start &&
    left[left.length - 1 - end] === right[right.length - 1 - end]
  ) {
    end += 1;
  }
  const same = (text: string): DiffLine => ({ kind: "same", text });
  const middle = compare(left.slice(start, left.length - end), right.slice(start, right.length - end));
  return [...left.slice(0, start).map(same), ...middle, ...left.slice(left.length - end).map(same)];
}

function compare(left: string[], right: string[]): DiffLine[] {
  if (left.length > MOST_LINES || right.length > MOST_LINES) {
    return [
      ...left.map((text) => ({ kind: "gone" as const, text })),
      ...right.map((text) => ({ kind: "new" as const, text })),
    ];
  }
  const width = right.length + 1;
  const longest = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] =
        left[i] === right[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const out: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < left.length || j < right.length) {
    if (i < left.length && j < right.length && left[i] === right[j]) {
      out.push({ kind: "same", text: left[i]! });
      i += 1;
      j += 1;
    } else if (j >= right.length || (i < left.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)) {
      out.push({ kind: "gone", text: left[i]! });
      i += 1;
    } else {
      out.push({ kind: "new", text: right[j]! });
      j += 1;
    }
  }
  return out;
}

const linesOf = (text: string): string[] => (text ? text.replace(/\n$/, "").split("\n") : []);

/** The lines that changed with some lines around them; `null` stands for lines that were left out. */
export function withContext(lines: DiffLine[], around: number): (DiffLine | null)[] {
  const near = new Set<number>();
  lines.forEach((line, index) => {
    if (line.kind === "same") return;
    for (let at = index - around; at <= index + around; at += 1) near.add(at);
  });
  const out: (DiffLine | null)[] = [];
  lines.forEach((line, index) => {
    if (near.has(index)) out.push(line);
    else if (out.at(-1) !== null) out.push(null);
  });
  return out;
}
