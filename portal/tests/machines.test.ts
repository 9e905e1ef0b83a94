import { expect, test } from "vitest";

import type { Node, Schemas } from "@/api/client";
import { actsOf } from "@/pages/node/NodeActions";
import { machinesOf } from "@/pages/welcome/machines";

const cluster = (name: string, backend: string) => ({ name, backend }) as Schemas["ClusterOut"];
const node = (name: string, of: string) => ({ name, cluster: of }) as Node;

test("machines of SSH clusters are those that were added, and a new one joins them", () => {
  const clusters = [cluster("local", "local"), cluster("pool", "ssh")];
  expect(machinesOf([node("here", "local"), node("gpu1", "pool")], clusters)).toEqual({
    added: [node("gpu1", "pool")],
    cluster: "pool",
  });
});

test("the first machine joins a cluster of a name that is free", () => {
  expect(machinesOf([], [cluster("local", "local")]).cluster).toBe("lab");
  expect(machinesOf([], [cluster("lab", "slurm")]).cluster).toBe("machines");
});

test("only a node that was added by SSH and cannot be reached is offered to be removed", () => {
  expect(actsOf({ state: "Unreachable", login: "root@gpu1" })).toContain("remove");
  expect(actsOf({ state: "Unreachable", login: "" })).not.toContain("remove");
  expect(actsOf({ state: "Ready", login: "root@gpu1" })).not.toContain("remove");
});
