import { describe, expect, it } from "vitest";

import type { Node } from "@/api/client";
import { COLOURINGS, cellOf, freeHistogram, matches, racksOf, readClusterView, totalsOf } from "@/pages/cluster/cells";
import { cellLegend } from "@/pages/cluster/legend";
import { merged } from "@/pages/cluster/live_nodes";
import { en } from "@/words/en";

const gpu = (index: number, change: object = {}) => ({
  index,
  model: "A100",
  used: 0,
  job: null,
  owner: null,
  outOfService: null,
  ...change,
});

const node = (name: string, change: object = {}): Node =>
  ({
    name,
    cluster: "lab",
    state: "Ready",
    address: "10.0.0.1",
    labels: {},
    alerts: [],
    gpus: [],
    usage: null,
    ...change,
  }) as unknown as Node;

describe("the heat map", () => {
  const held = gpu(0, { used: 1, job: "train", owner: "ada" });

  it("tells a GPU that is allocated and idle from one that is free", () => {
    const idle = node("n1", { gpus: [held], usage: { gpus: [{ index: 0, load: 0 }] } });
    expect(cellOf(idle, held as never, "load").tone).toBe("idle");
    expect(cellOf(idle, gpu(1) as never, "load").tone).toBe("free");
  });

  it("shows a sick GPU whatever the colours mean", () => {
    const sick = gpu(0, { used: 1, outOfService: "ECC errors" });
    for (const by of ["load", "owner", "health"] as const) {
      expect(cellOf(node("n1"), sick as never, by).tone).toBe("sick");
    }
  });

  it("counts neither sick GPUs nor those of unreachable nodes as healthy", () => {
    const nodes = [
      node("n1", { gpus: [held, gpu(1, { outOfService: "gone" })] }),
      node("n2", { state: "Unreachable", gpus: [gpu(0)] }),
    ];
    expect(totalsOf(nodes)).toEqual({ used: 1, healthy: 1, total: 3 });
    expect(freeHistogram(nodes)).toEqual([1]);
  });

  it("puts nodes into racks by their label", () => {
    const racks = racksOf([node("n1", { labels: { rack: "a" } }), node("n2"), node("n3", { labels: { rack: "a" } })]);
    expect(racks.map((rack) => [rack.name, rack.nodes.length])).toEqual([
      ["lab · a", 2],
      ["lab", 1],
    ]);
  });

  it("finds nodes by the owner of what runs there", () => {
    const found = node("n1", { gpus: [held] });
    expect(matches(found, { text: "ADA" })).toBe(true);
    expect(matches(found, { text: "bob" })).toBe(false);
    expect(matches(found, { state: "alerts" })).toBe(false);
  });

  it("ignores what an address should not say", () => {
    expect(readClusterView({ by: "<script>", text: 5, cluster: "lab" })).toEqual({ cluster: "lab" });
  });
});

describe("live nodes", () => {
  it("replaces those that changed and keeps the others as they were", () => {
    const [first, second] = [node("n1"), node("n2")];
    const list = merged(
      { items: [first, second] },
      { nodes: [node("n2", { state: "Cordoned" }), node("n3")], gone: [] },
    );
    expect(list.items[0]).toBe(first);
    expect(list.items.map((each) => each.state)).toEqual(["Ready", "Cordoned", "Ready"]);
  });
});

describe("the legend", () => {
  const usage = (load: number) => ({ gpus: [{ index: 0, load }] });
  const held = { used: 1, owner: "ada" };
  const nodes = [
    node("free", { gpus: [gpu(0)] }),
    node("unmeasured", { gpus: [gpu(0, held)] }),
    ...[1, 20, 40, 60, 90].map((load) => node(`load-${load}`, { gpus: [gpu(0, held)], usage: usage(load) })),
    node("private", { gpus: [gpu(0, { used: 1 })] }),
    node("sick", { gpus: [gpu(0, { outOfService: "ECC" })] }),
    node("away", { gpus: [gpu(0)], state: "Unreachable" }),
  ];

  it.each(COLOURINGS)("explains each colour and letter of %s", (by) => {
    const known = cellLegend(en, by, nodes).map(({ tone, letter }) => `${tone} ${letter ?? ""}`);
    for (const each of nodes) {
      const { tone, letter } = cellOf(each, each.gpus[0]!, by);
      expect(known).toContain(`${tone} ${letter}`);
    }
  });

  it("counts people whom it does not name", () => {
    const many = Array.from({ length: 20 }, (_, at) =>
      node(`n${at}`, { gpus: [gpu(0, { used: 1, owner: `p${at}` })] }),
    );
    expect(cellLegend(en, "owner", many).map(({ meaning }) => meaning)).toContain("and 4 more");
  });
});
