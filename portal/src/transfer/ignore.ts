/**
 * Decides which files of a folder are not sent, from `.gitignore` and `.musterignore` at every level, with git's rules.
 * In each folder `.musterignore` is applied after `.gitignore`.
 */
export const RULE_FILES = [".gitignore", ".musterignore"] as const;
const ALWAYS_LEFT_OUT = new Set([".git", "__pycache__", ".venv"]);

interface Rule {
  pattern: RegExp;
  isNegated: boolean;
  isForFolders: boolean;
}

/** `lines` by folder: the lines of its files of rules; the outermost folder is the empty text. */
export class IgnoreRules {
  private readonly rules: ReadonlyMap<string, Rule[]>;

  constructor(lines: ReadonlyMap<string, string[]>) {
    this.rules = new Map([...lines].map(([folder, each]) => [folder, each.flatMap(readRule)]));
  }

  /** Whether the file is left out by itself or by one of the folders above it. */
  leavesOut(path: string): boolean {
    const parts = path.split("/");
    return parts.some((_, index) => this.isLeftOut(parts.slice(0, index + 1), index < parts.length - 1));
  }

  private isLeftOut(parts: string[], isFolder: boolean): boolean {
    if (ALWAYS_LEFT_OUT.has(parts.at(-1) ?? "")) return true;
    for (let depth = parts.length - 1; depth >= 0; depth -= 1) {
      const below = parts.slice(depth).join("/");
      const rules = this.rules.get(parts.slice(0, depth).join("/")) ?? [];
      const verdict = rules.findLast((rule) => (isFolder || !rule.isForFolders) && rule.pattern.test(below));
      if (verdict) return !verdict.isNegated;
    }
    return false;
  }
}

function readRule(line: string): Rule[] {
  let text = line.replace(/\r$/, "").replace(/(?<!\\) +$/, "");
  if (!text || text.startsWith("#")) return [];
  const isNegated = text.startsWith("!");
  if (isNegated) text = text.slice(1);
  const isForFolders = text.endsWith("/");
  if (isForFolders) text = text.slice(0, -1);
  const isAnchored = text.includes("/");
  const body = regularExpression(text.replace(/^\//, ""));
  return [{ pattern: new RegExp(`^${isAnchored ? "" : "(?:.*/)?"}${body}$`, "s"), isNegated, isForFolders }];
}

const STARS: [RegExp, string][] = [
  [/^\*\*\//, "(?:.*/)?"],
  [/^\/\*\*$/, "/.+"],
  [/^\/\*\*\//, "/(?:.*/)?"],
  [/^\*+/, "[^/]*"],
  [/^\?/, "[^/]"],
];

function regularExpression(glob: string): string {
  let rest = glob;
  let made = "";
  while (rest) {
    const star = STARS.find(([form]) => form.test(rest));
    const set = /^\[(!|\^)?(\]?[^\]]*)\]/.exec(rest);
    if (star) {
      made += star[1];
      rest = rest.replace(star[0], "");
    } else if (set) {
      made += `(?!/)[${set[1] ? "^" : ""}${(set[2] ?? "").replace(/[\\\]]/g, "\\$&")}]`;
      rest = rest.slice(set[0].length);
    } else {
      const taken = rest.startsWith("\\") && rest.length > 1 ? rest.slice(1, 2) : rest.slice(0, 1);
      made += taken.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
      rest = rest.slice(rest.startsWith("\\") && rest.length > 1 ? 2 : 1);
    }
  }
  return made;
}
