import type { Schemas } from "@/api/client";
import type { Words } from "@/words/shape";
import { fill } from "@/words/language";

export type RuleAlert = Schemas["RuleAlertOut"];
type Alert = Schemas["AlertOut"];
type Subject = Schemas["AlertSubjectOut"];

const SEVERITIES = ["critical", "warning", "info"] as const;

/** Alerts of the server that are no alerts of rules, too: what a rule watches as well is told once. */
export const notOfRules = (alerts: readonly Alert[], ofRules: readonly RuleAlert[]): Alert[] =>
  alerts.filter((alert) => {
    const check = alert.kind === "idle-allocation" ? "gpu-idle" : alert.kind;
    return !ofRules.some((each) => each.check === check && isSame(each.subject, alert.subject));
  });

const isSame = (one: Subject, other: Subject): boolean =>
  one.type === other.type && one.name === other.name && one.cluster === other.cluster && one.id === other.id;

/** The worst first, and of those the ones that fire. */
export const worstFirst = (alerts: readonly RuleAlert[]): RuleAlert[] =>
  [...alerts].sort(
    (one, other) =>
      SEVERITIES.indexOf(one.severity) - SEVERITIES.indexOf(other.severity) ||
      Number(one.state !== "firing") - Number(other.state !== "firing"),
  );

/** Those that nobody has silenced. */
export const unsilenced = (alerts: readonly RuleAlert[]): RuleAlert[] =>
  alerts.filter((alert) => alert.silencedBy === null);

/** How an alert of a rule stands: whether it fires, and what keeps it from being told. */
export const standingOf = (words: Words, alert: RuleAlert): string[] => [
  words.alerts.states[alert.state],
  ...(alert.silencedBy === null ? [] : [words.alerts.silenced]),
  ...(alert.inhibitedBy === null ? [] : [fill(words.alerts.inhibited, { rule: alert.inhibitedBy })]),
];
