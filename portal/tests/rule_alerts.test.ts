import { expect, test } from "vitest";

import type { Schemas } from "@/api/client";
import { notOfRules } from "@/pages/alerts/rule_alerts";

const node = (name: string) => ({ type: "node" as const, name, cluster: "lab", id: null });
const alert = (kind: string, name: string) => ({ kind, subject: node(name) }) as Schemas["AlertOut"];
const ofRule = (check: string, name: string) => ({ check, subject: node(name) }) as Schemas["RuleAlertOut"];

test("what a rule watches as well is told once", () => {
  const alerts = [alert("node-unreachable", "gpu1"), alert("node-unreachable", "gpu2"), alert("node-held", "gpu1")];
  expect(notOfRules(alerts, [ofRule("node-unreachable", "gpu1")])).toEqual(alerts.slice(1));
  expect(notOfRules(alerts, [ofRule("", "gpu1")])).toEqual(alerts);
});

test("GPUs that nobody uses have two names", () => {
  expect(notOfRules([alert("idle-allocation", "gpu1")], [ofRule("gpu-idle", "gpu1")])).toEqual([]);
});
