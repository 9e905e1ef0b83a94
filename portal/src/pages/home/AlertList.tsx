import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import classes from "./HomePage.module.css";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { notOfRules, standingOf, unsilenced, worstFirst, type RuleAlert } from "@/pages/alerts/rule_alerts";
import { ProblemBox } from "@/parts/feedback";
import { Section } from "@/parts/Section";
import { Ago } from "@/parts/Time";
import { WithCode } from "@/parts/WithCode";
import { alertAdvice, alertText } from "@/words/coded";
import { fill, useLanguage } from "@/words/language";

type Alert = Schemas["AlertOut"];
const SHOWN = 6;

/**
 * What is not as it should be and concerns the reader: all alerts of rules that the server shows them, and the others,
 * which the bell of the frame keeps up to date.
 */
export function AlertList() {
  const { language, words } = useLanguage();
  const alerts = useQuery(queries.alerts());
  const asked = useQuery(queries.ruleAlerts(language));
  const error = [alerts, asked].find((each) => each.error && !each.data)?.error;
  const others = notOfRules(alerts.data?.items ?? [], asked.data?.items ?? []);
  const mine = others.filter((alert) => alert.concernsMe);
  const ofRules = worstFirst(unsilenced(asked.data?.items ?? []));
  const count = mine.length + ofRules.length;
  return (
    <Section
      title={words.home.alerts}
      aside={count > SHOWN && <Text size="xs">{fill(words.home.more, { n: count - SHOWN })}</Text>}
    >
      {error && <ProblemBox error={error} />}
      {alerts.data && asked.data && count === 0 && (
        <Text size="sm" className="soft">
          {words.home.noAlerts}
        </Text>
      )}
      <ul className={classes.list}>
        {ofRules.slice(0, SHOWN).map((alert) => (
          <RuleItem key={alert.id} alert={alert} />
        ))}
        {mine.slice(0, Math.max(SHOWN - ofRules.length, 0)).map((alert) => (
          <AlertItem key={alert.id} alert={alert} />
        ))}
      </ul>
    </Section>
  );
}

function AlertItem({ alert }: { alert: Alert }) {
  const { language, words } = useLanguage();
  const numbers = { name: alert.subject.name, ...alert.numbers };
  const text = alertText(language, { code: alert.kind, numbers, message: alert.message });
  const advice = alertAdvice(language, { code: alert.kind, numbers, message: alert.advice });
  return (
    <li className={classes.item}>
      <span title={alert.message}>
        <strong className={classes.severity} data-severity={alert.severity}>
          {words.severities[alert.severity]}
        </strong>{" "}
        <Subject alert={alert}>{text}</Subject>
      </span>
      <span className="soft">{alert.since && <Ago at={alert.since} />}</span>
      {advice && (
        <span className={classes.wide}>
          <WithCode text={advice} />
        </span>
      )}
    </li>
  );
}

function RuleItem({ alert }: { alert: RuleAlert }) {
  const { words } = useLanguage();
  return (
    <li className={classes.item}>
      <span title={standingOf(words, alert).join(", ")}>
        <strong className={classes.severity} data-severity={alert.severity}>
          {words.severities[alert.severity]}
        </strong>{" "}
        {alert.rule}: <Subject alert={alert}>{alert.message}</Subject>
        {alert.state === "pending" && ` (${words.alerts.states.pending})`}
      </span>
      <span className="soft">
        <Ago at={alert.since} />
      </span>
      {alert.advice && (
        <span className={classes.wide}>
          <WithCode text={alert.advice} />
        </span>
      )}
    </li>
  );
}

function Subject({ alert, children }: { alert: Pick<Alert, "subject">; children: string }) {
  const job = alert.subject.type === "job" ? alert.subject.id : null;
  const text = <WithCode text={children} />;
  if (!job) return text;
  return (
    <Anchor
      size="sm"
      underline="always"
      renderRoot={(props) => <Link {...props} to="/jobs/$ref" params={{ ref: job }} />}
    >
      {text}
    </Anchor>
  );
}
