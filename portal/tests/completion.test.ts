import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";

import { completionAt, type Schema } from "@/parts/yaml/completion";

const schema = JSON.parse(readFileSync("../docs/reference/jobspec.schema.json", "utf8")) as Schema;

/** The labels that are offered at `|`. */
function offered(text: string, known = {}): string[] {
  const at = text.indexOf("|");
  const found = completionAt(schema, text.replace("|", ""), at, known);
  return found?.offers.map((offer) => offer.label) ?? [];
}

describe("completion of job files", () => {
  it("offers the keys of the spec that are not there yet", () => {
    const keys = offered("name: a\n|\nroles: {}\n");
    expect(keys).toContain("framework");
    expect(keys).not.toContain("name");
    expect(keys).not.toContain("roles");
  });

  it("knows where it is by indentation, also in roles of any name", () => {
    expect(offered("roles:\n  trainer:\n    replicas: 1\n    re|")).toContain("resources");
    expect(offered("roles:\n  trainer:\n    resources:\n      g|")).toEqual([
      "cpu",
      "memory",
      "gpu",
      "gpuType",
      "devices",
    ]);
    expect(offered("retry:\n  |")).toEqual(["max"]);
    expect(offered("mounts:\n  - |")).toContain("target");
  });

  it("offers values", () => {
    expect(offered("priority: h|")).toEqual(["low", "normal", "high", "urgent"]);
    expect(offered("preemptible: |")).toEqual(["true", "false"]);
    expect(offered("cluster: |", { cluster: ["lab", "vision"] })).toEqual(["lab", "vision"]);
  });

  it("offers nothing in comments and free texts", () => {
    expect(offered("name: a # pri|")).toEqual([]);
    expect(offered("name: |")).toEqual([]);
  });

  it("says what a key means", () => {
    const found = completionAt(schema, "ti", 2);
    expect(found?.offers.find((offer) => offer.label === "timeLimit")?.info).toContain("stopped");
    expect(found?.from).toBe(0);
  });
});
