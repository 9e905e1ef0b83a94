import { describe, expect, it } from "vitest";

import { fieldText, rolesOf, typedValue, withKey, withRole } from "@/pages/submit/form_values";
import { readSpec, withValue } from "@/pages/submit/yaml_edit";

const FILE = `# my job
name: first   # keep me
gloo: 1                 # fleet.barrier_worker() needs it
env: {A: "1", B: two}   # one line
x-unknown: {of: mine}
roles:
  # the workers
  worker:
    replicas: 2
    command: |
      python train.py
      echo done
    resources: {cpu: 250m}   # small
`;

describe("editing a job file by the form", () => {
  it("changes only the value", () => {
    expect(withValue(FILE, ["name"], "second")).toBe(FILE.replace("name: first", "name: second"));
    expect(withValue(FILE, ["roles", "worker", "replicas"], 8)).toBe(FILE.replace("replicas: 2", "replicas: 8"));
    expect(withValue(FILE, ["env", "A"], "x: y")).toBe(FILE.replace('"1"', '"x: y"'));
  });

  it("adds a key behind the others and leaves every other line as it is", () => {
    expect(withValue(FILE, ["priority"], "high")).toBe(`${FILE}priority: high\n`);
    expect(withValue(FILE, ["roles", "worker", "resources", "gpu"], 4)).toBe(
      FILE.replace("{cpu: 250m}", "{cpu: 250m, gpu: 4}"),
    );
    expect(withValue(FILE, ["roles", "worker", "ports"], 1)).toBe(`${FILE}    ports: 1\n`);
    expect(withValue(FILE, ["retry", "max"], 3)).toBe(`${FILE}retry:\n  max: 3\n`);
  });

  it("takes a key away with its line, and what would be empty then", () => {
    expect(withValue(FILE, ["gloo"], undefined)).toBe(FILE.replace(/gloo.*\n/, ""));
    const more = withValue(FILE, ["retry", "max"], 3);
    expect(withValue(more, ["retry", "max"], undefined)).toBe(FILE);
  });

  it("begins with nothing", () => {
    expect(readSpec(withValue("", ["name"], "a"))).toEqual({ name: "a" });
    expect(readSpec(withValue("# only a comment\n", ["resources", "gpu"], 1))).toEqual({ resources: { gpu: 1 } });
    expect(withValue("# only a comment\n", ["name"], "a")).toContain("# only a comment");
    expect(readSpec(withValue("env:\nname: a\n", ["env", "X"], "1"))).toEqual({ env: { X: "1" }, name: "a" });
  });

  it("keeps texts that look like something else as texts", () => {
    expect(readSpec(withValue(FILE, ["name"], "123"))?.name).toBe("123");
    expect(readSpec(withValue(FILE, ["name"], "true"))?.name).toBe("true");
    expect(readSpec(withValue(FILE, ["name"], "- # :"))?.name).toBe("- # :");
    expect(readSpec(withValue(FILE, ["command"], "a\nb\n"))?.command).toBe("a\nb\n");
    expect(readSpec(withValue(FILE, ["roles", "worker", "command"], "run"))?.roles).toMatchObject({
      worker: { command: "run" },
    });
  });

  it("does not follow scripts, mistakes and several documents", () => {
    expect(readSpec("#!/bin/bash\n#SBATCH -N 2\n")).toBeNull();
    expect(readSpec("a: [")).toBeNull();
    expect(readSpec("a: 1\n---\na: 2\n")).toBeNull();
    expect(readSpec("- a\n")).toBeNull();
    expect(withValue("a: [", ["b"], 1)).toBe("a: [");
  });

  it("turns a job without roles into one with two", () => {
    const text = "name: a  # why\ncommand: run\nreplicas: 2\nresources: {gpu: 1}\n";
    const more = withRole(text, readSpec(text) ?? {});
    expect(readSpec(more)).toEqual({
      name: "a",
      roles: {
        worker: { replicas: 2, command: "run", resources: { gpu: 1 } },
        ps: { replicas: 1, command: "" },
      },
    });
    expect(more).toContain("# why");
    expect(rolesOf(readSpec(more) ?? {}).map((role) => role.name)).toEqual(["worker", "ps"]);
  });

  it("renames a key in its place", () => {
    expect(withKey("env:\n  A: 1\n  B: 2\n", ["env"], "A", "C")).toBe("env:\n  C: 1\n  B: 2\n");
  });

  it("reads what is typed as YAML would", () => {
    expect(typedValue("0.5", "number")).toBe(0.5);
    expect(typedValue("500m", "number")).toBe("500m");
    expect(typedValue("  ", "number")).toBeUndefined();
    expect(typedValue("A100, H100", "list")).toEqual(["A100", "H100"]);
    expect(fieldText(["A100", "H100"])).toBe("A100, H100");
    expect(fieldText({ a: 1 })).toBeNull();
  });
});
