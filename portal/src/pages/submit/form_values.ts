import { isMap, YAMLMap, type Document } from "yaml";

import { valueAt, withChange, type Path } from "./yaml_edit";

/** One group of fields of the form: a role, or the job itself if it has no roles. */
export interface RoleFields {
  /** Null for a job without roles. */
  name: string | null;
  path: Path;
}

/** What a job without roles says of its tasks, and moves to a role when there is more than one kind. */
const TASK_KEYS = [
  "replicas",
  "min",
  "max",
  "command",
  "args",
  "resources",
  "ports",
  "stdin",
  "tty",
  "minFailed",
  "minSucceeded",
];

export function rolesOf(spec: Record<string, unknown>): RoleFields[] {
  const roles = spec.roles;
  if (typeof roles !== "object" || roles === null) return [{ name: null, path: [] }];
  return Object.keys(roles).map((name) => ({ name, path: ["roles", name] }));
}

/** A value as a field shows it. Null: it is written in a form that only the text can show, such as a list. */
export function fieldText(value: unknown): string | null {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  if (Array.isArray(value) && value.every((each) => typeof each === "string" && !each.includes(","))) {
    return value.join(", ");
  }
  return null;
}

/** What was typed as YAML would read it: nothing is no value, digits are a number. */
export function typedValue(text: string, kind: "text" | "number" | "list"): unknown {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  if (kind === "number" && /^-?(\d+\.?\d*|\.\d+)$/.test(trimmed)) return Number(trimmed);
  if (kind === "list" && trimmed.includes(",")) {
    return trimmed
      .split(",")
      .map((each) => each.trim())
      .filter(Boolean);
  }
  return kind === "text" ? text : trimmed;
}

/** Rows of a mapping such as env, in the order in which they are written. */
export function rowsOf(spec: Record<string, unknown>, path: Path): [string, string | null][] {
  const found = valueAt(spec, path);
  if (typeof found !== "object" || found === null || Array.isArray(found)) return [];
  return Object.entries(found).map(([key, value]) => [key, fieldText(value)]);
}

/** Adds a role. The fields of a job without roles become its role `worker` first. */
export function withRole(text: string, spec: Record<string, unknown>): string {
  const names = rolesOf(spec).map((role) => role.name);
  return withChange(text, (document) => {
    if (names[0] === null) moveToRole(document, "worker");
    const taken = names[0] === null ? ["worker"] : names;
    document.setIn(["roles", freeName(taken)], document.createNode({ replicas: 1, command: "" }));
  });
}

const ROLE_NAMES = ["worker", "ps", "evaluator"];

function freeName(taken: readonly (string | null)[]): string {
  const usual = ROLE_NAMES.find((name) => !taken.includes(name));
  if (usual) return usual;
  let n = 2;
  while (taken.includes(`role${n}`)) n += 1;
  return `role${n}`;
}

function moveToRole(document: Document, name: string): void {
  const role = new YAMLMap();
  for (const key of TASK_KEYS) {
    const node = document.get(key, true);
    if (node === undefined) continue;
    role.set(key, node);
    document.delete(key);
  }
  document.set("roles", document.createNode({}));
  document.setIn(["roles", name], role);
}

export const withoutRole = (text: string, name: string): string =>
  withChange(text, (document) => document.deleteIn(["roles", name]));

/** Another name for a key, in its place. */
export function withKey(text: string, path: Path, from: string, to: string): string {
  return withChange(text, (document) => {
    const map = document.getIn(path);
    const pair = isMap(map) ? map.items.find((each) => String(each.key) === from) : undefined;
    if (pair) pair.key = document.createNode(to);
  });
}
