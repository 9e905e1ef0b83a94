import type { Schemas } from "@/api/client";
import type { Words } from "@/words/shape";
import { fill } from "@/words/language";

export type RuleAlert = Schemas["RuleAlertOut"];

const SEVERITIES = ["critical", "warning", "info"] as const;

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
