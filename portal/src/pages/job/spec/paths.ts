/** The value at a path of a spec, such as `roles.worker.resources.cpu`; undefined if there is none. */
export function valueAt(spec: unknown, path: string): unknown {
  let found = spec;
  for (const name of path.split(".")) {
    if (typeof found !== "object" || found === null || !Object.hasOwn(found, name)) return undefined;
    found = (found as Record<string, unknown>)[name];
  }
  return found;
}

/** A value of a spec as a short text. */
export function valueText(value: unknown): string {
  if (value === undefined || value === null) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}
