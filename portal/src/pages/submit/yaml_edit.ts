import { isMap, isScalar, parseDocument, stringify, type Document, type Pair, type YAMLMap } from "yaml";

export type Path = readonly (string | number)[];

const STYLE = { lineWidth: 0, flowCollectionPadding: false };

/** The job file as data, or null if the form cannot follow it: it is a script, has mistakes or several documents. */
export function readSpec(text: string): Record<string, unknown> | null {
  if (text.startsWith("#!")) return null;
  const document = parseDocument(text);
  if (document.errors.length > 0) return null;
  const value: unknown = document.toJS({ maxAliasCount: 100 });
  if (value === null) return {};
  return typeof value === "object" && !Array.isArray(value) ? (value as Record<string, unknown>) : null;
}

/** The value at a path, or undefined. */
export function valueAt(spec: unknown, path: Path): unknown {
  let value = spec;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = (value as Record<string | number, unknown>)[key];
  }
  return value;
}

/**
 * The text with another value at a path; `undefined` takes the key away. Only the lines concerned change, so that
 * comments, order, quotes and keys that the form does not know stay as their author wrote them.
 */
export function withValue(text: string, path: Path, value: unknown): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  const edited = edit(text, document, path, value);
  const changed = parseDocument(text);
  change(changed, path, value);
  if (edited !== null && isSame(edited, changed)) return edited;
  return changed.toString(STYLE);
}

/** Other changes of the document at once, such as moving a part of it. */
export function withChange(text: string, apply: (document: Document) => void): string {
  const document = parseDocument(text);
  if (document.errors.length > 0) return text;
  apply(document);
  return document.toString(STYLE);
}

function change(document: Document, path: Path, value: unknown): void {
  if (value !== undefined) {
    document.contents ??= document.createNode({});
    for (let depth = 1; depth < path.length; depth += 1) {
      if (document.getIn(path.slice(0, depth)) === null) document.setIn(path.slice(0, depth), document.createNode({}));
    }
    document.setIn(path, document.createNode(value));
    return;
  }
  document.deleteIn(path);
  for (let depth = path.length - 1; depth > 0; depth -= 1) {
    const above = document.getIn(path.slice(0, depth));
    if (isMap(above) && above.items.length === 0) document.deleteIn(path.slice(0, depth));
    else return;
  }
}

function isSame(text: string, wanted: Document): boolean {
  const document = parseDocument(text);
  return document.errors.length === 0 && JSON.stringify(document.toJS()) === JSON.stringify(wanted.toJS());
}

/** The edit as a change of the text alone, or null if it takes more than that. */
function edit(text: string, document: Document, path: Path, value: unknown): string | null {
  const existing = document.getIn(path, true);
  if (value === undefined) return existing === undefined ? text : without(text, document, path);
  if (isScalar(existing) && existing.range && isPlain(value)) {
    const [start, end] = existing.range;
    if (start === end) return null;
    return text.slice(0, start) + written(value) + text.slice(end);
  }
  if (existing !== undefined) return null;
  let depth = path.length - 1;
  while (depth > 0 && !isMap(document.getIn(path.slice(0, depth)))) depth -= 1;
  const map = depth > 0 ? document.getIn(path.slice(0, depth)) : document.contents;
  if (!isMap(map) || document.hasIn(path.slice(0, depth + 1))) return null;
  const below = path.slice(depth + 1).reduceRight<unknown>((inner, key) => ({ [key]: inner }), value);
  return map.flow ? addedToFlow(text, map, path[depth], below) : addedToBlock(text, map, path[depth], below);
}

function addedToBlock(text: string, map: YAMLMap, key: unknown, value: unknown): string | null {
  const first = map.items[0];
  const last = map.items.at(-1);
  if (!isScalar(first?.key) || !first.key.range || !last) return null;
  const column = first.key.range[0] - (text.lastIndexOf("\n", first.key.range[0] - 1) + 1);
  const lines = stringify({ [String(key)]: value }, STYLE)
    .trimEnd()
    .split("\n");
  const added = lines.map((line) => " ".repeat(column) + line).join("\n");
  const at = endOf(text, last);
  if (at === null) return null;
  const before = text.slice(0, at);
  return `${before}${before === "" || before.endsWith("\n") ? "" : "\n"}${added}\n${text.slice(at)}`;
}

function addedToFlow(text: string, map: YAMLMap, key: unknown, value: unknown): string | null {
  if (!map.range) return null;
  const end = map.range[1] - 1;
  const inner = stringify({ [String(key)]: value }, { ...STYLE, collectionStyle: "flow" })
    .trim()
    .slice(1, -1);
  const before = text.slice(0, end).trimEnd();
  const gap = text.slice(before.length, end);
  return `${before}${map.items.length > 0 ? ", " : ""}${inner}${gap}${text.slice(end)}`;
}

/** Where the line ends on which a pair ends; a comment behind its value belongs to it. */
function endOf(text: string, pair: Pair): number | null {
  const node = (pair.value ?? pair.key) as { range?: [number, number, number] | null };
  if (!node.range) return null;
  const end = node.range[1];
  if (end > 0 && text[end - 1] === "\n") return end;
  const line = text.indexOf("\n", end);
  return line < 0 ? text.length : line + 1;
}

/** Takes the whole lines of a key away, and those of the folders above it that would be empty. */
function without(text: string, document: Document, path: Path): string | null {
  let depth = path.length - 1;
  let map = mapAt(document, path.slice(0, depth));
  while (map?.items.length === 1 && depth > 0) {
    depth -= 1;
    map = mapAt(document, path.slice(0, depth));
  }
  const pair = map?.items.find((each) => isScalar(each.key) && each.key.value === path[depth]);
  if (!map || map.flow || !pair || !isScalar(pair.key) || !pair.key.range) return null;
  const start = text.lastIndexOf("\n", pair.key.range[0] - 1) + 1;
  const end = endOf(text, pair);
  return end === null ? null : text.slice(0, start) + text.slice(end);
}

function mapAt(document: Document, path: Path): YAMLMap | null {
  const node = path.length > 0 ? document.getIn(path) : document.contents;
  return isMap(node) ? node : null;
}

const isPlain = (value: unknown): boolean =>
  typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && !value.includes("\n"));

const written = (value: unknown): string => stringify(value, STYLE).trimEnd();
