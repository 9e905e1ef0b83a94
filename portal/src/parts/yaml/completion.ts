/** A JSON Schema, as far as the job spec uses it. */
export interface Schema {
  $ref?: string;
  $defs?: Record<string, Schema>;
  anyOf?: Schema[];
  type?: string | string[];
  enum?: unknown[];
  properties?: Record<string, Schema>;
  patternProperties?: Record<string, Schema>;
  additionalProperties?: boolean | Schema;
  items?: Schema;
  description?: string;
  default?: unknown;
}

export interface Offer {
  label: string;
  /** What is inserted: a key comes with its colon. */
  insert: string;
  detail?: string;
  info?: string;
}

export interface Completion {
  /** Where the word begins that is being completed. */
  from: number;
  offers: Offer[];
}

/**
 * What can stand at a place of the text: keys of the spec, or values of a key. The place is found by indentation, so
 * that it works in a text that is half written. `known` has values by key that only the server knows, such as clusters.
 */
export function completionAt(
  schema: Schema,
  text: string,
  at: number,
  known: Readonly<Record<string, readonly string[]>> = {},
): Completion | null {
  const start = text.lastIndexOf("\n", at - 1) + 1;
  const line = text.slice(start, at);
  if (/(^|\s)#/.test(line)) return null;
  const value = /^(\s*(?:- )*)([\w.-]+):[ \t]+([\w.-]*)$/.exec(line);
  if (value) {
    const [, indent = "", key = "", word = ""] = value;
    const path = [...parentsOf(text, start, indent.length), key];
    const offers = path.length === 1 && known[key] ? known[key].map(plain) : valuesOf(schema, below(schema, path));
    return offers.length > 0 ? { from: at - word.length, offers } : null;
  }
  const written = /^(\s*(?:- )*)([\w.-]*)$/.exec(line);
  if (!written) return null;
  const [, indent = "", word = ""] = written;
  const parents = parentsOf(text, start, indent.length);
  const taken = siblingsOf(text, start, indent.length);
  const offers = keysOf(schema, below(schema, parents)).filter((offer) => !taken.has(offer.label));
  return offers.length > 0 ? { from: at - word.length, offers } : null;
}

const plain = (label: string): Offer => ({ label, insert: label });

const keyOf = (line: string): { indent: number; key: string } | null => {
  const found = /^(\s*(?:- )*)("?[\w./-]+"?)\s*:(\s|$)/.exec(line);
  return found ? { indent: (found[1] ?? "").length, key: (found[2] ?? "").replaceAll('"', "") } : null;
};

/** The keys above a line with this indentation, outermost first. */
function parentsOf(text: string, start: number, indent: number): string[] {
  const parents: string[] = [];
  let least = indent;
  const lines = text.slice(0, start).split("\n");
  for (const line of lines.reverse()) {
    if (least === 0) break;
    const found = keyOf(line);
    if (found && found.indent < least) {
      parents.unshift(found.key);
      least = found.indent;
    }
  }
  return parents;
}

/** The keys that the same mapping has already. */
function siblingsOf(text: string, start: number, indent: number): Set<string> {
  const found = new Set<string>();
  const collect = (lines: string[]) => {
    for (const line of lines) {
      const key = keyOf(line);
      if (key?.indent === indent) found.add(key.key);
      else if (key && key.indent < indent) return;
    }
  };
  collect(text.slice(0, start).split("\n").reverse());
  collect(text.slice(start).split("\n").slice(1));
  return found;
}

/** The schemas that apply at a path. */
function below(root: Schema, path: readonly string[]): Schema[] {
  let found = alternatives(root, root);
  for (const key of path) {
    found = found.flatMap((each) => child(each, key)).flatMap((each) => alternatives(root, each));
  }
  return found;
}

function alternatives(root: Schema, schema: Schema): Schema[] {
  const target = schema.$ref?.split("/").at(-1);
  const found: Schema = target ? { ...schema, ...root.$defs?.[target] } : schema;
  return [
    ...((found.properties ?? found.patternProperties ?? found.enum ?? found.type) ? [found] : []),
    ...(found.anyOf ?? []).flatMap((each) => alternatives(root, each)),
    ...(found.items ? alternatives(root, found.items) : []),
  ];
}

function child(schema: Schema, key: string): Schema[] {
  const named = schema.properties?.[key];
  if (named) return [named];
  const pattern = Object.entries(schema.patternProperties ?? {}).find(([each]) => new RegExp(each).test(key));
  return pattern ? [pattern[1]] : [];
}

function keysOf(root: Schema, schemas: readonly Schema[]): Offer[] {
  const properties = schemas.flatMap((schema) => Object.entries(schema.properties ?? {}));
  return [...new Map(properties)].map(([label, schema]) => {
    const info = schema.description ?? alternatives(root, schema)[0]?.description;
    const isNested = alternatives(root, schema).some((each) => each.properties ?? each.patternProperties);
    const isOnly = !alternatives(root, schema).some((each) => each.type === "string" || each.enum);
    const offer: Offer = { label, insert: isNested && isOnly ? `${label}:\n` : `${label}: ` };
    if (info) offer.info = info;
    return offer;
  });
}

function valuesOf(root: Schema, schemas: readonly Schema[]): Offer[] {
  const values = schemas.flatMap((schema) => {
    const found = alternatives(root, schema);
    return found.flatMap((each) => each.enum ?? (each.type === "boolean" ? [true, false] : []));
  });
  return [...new Set(values.map(String))].map(plain);
}
