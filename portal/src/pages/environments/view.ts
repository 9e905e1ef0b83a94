import type { Schemas } from "@/api/client";

/** What the address of the environments page says. */
export interface EnvironmentsView {
  cluster?: string;
  text?: string;
  /** The environment whose packages are shown. */
  packages?: string;
}

const KEYS = ["cluster", "text", "packages"] as const;

export function readEnvironmentsView(search: Record<string, unknown>): EnvironmentsView {
  const view: EnvironmentsView = {};
  for (const key of KEYS) {
    const value = typeof search[key] === "number" ? String(search[key]) : search[key];
    if (typeof value === "string" && value) view[key] = value;
  }
  return view;
}

export type Environment = Schemas["EnvironmentOut"];

export function matches(environment: Environment, view: EnvironmentsView): boolean {
  if (view.cluster && environment.cluster !== view.cluster) return false;
  const text = (view.text ?? "").toLowerCase();
  const all = [environment.name, ...Object.keys(environment.frameworks), ...environment.nodes];
  return all.some((each) => each.toLowerCase().includes(text));
}
