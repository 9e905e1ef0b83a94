import { Anchor, Badge, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { standingOf, type RuleAlert } from "./rule_alerts";
import { subjectOf } from "./subjects";
import { Ago } from "@/parts/Time";
import { WithCode } from "@/parts/WithCode";
import { useWords } from "@/words/language";

/** An alert of a rule: which one, how it stands and since when, what is wrong and what to do about it. */
export function RuleAlertLine({ alert }: { alert: RuleAlert }) {
  const words = useWords();
  const subject = subjectOf(alert);
  return (
    <div data-alert={alert.id}>
      <Group gap={6}>
        <Badge size="sm" variant="default" tt="none">
          {words.alerts.severities[alert.severity]}
        </Badge>
        {standingOf(words, alert).map((text) => (
          <Badge key={text} size="sm" variant="default" tt="none">
            {text}
          </Badge>
        ))}
        <Text size="sm" fw={600}>
          {alert.rule}
        </Text>
        {subject ? (
          <Anchor size="sm" renderRoot={(props) => <Link {...props} {...subject} />}>
            {alert.subject.name}
          </Anchor>
        ) : (
          <Text size="sm">{alert.subject.name}</Text>
        )}
        <Text size="xs" className="soft">
          <Ago at={alert.since} />
        </Text>
      </Group>
      <Text size="sm">
        <WithCode text={alert.message} />
      </Text>
      <Text size="xs" className="soft">
        <WithCode text={alert.advice} />
      </Text>
    </div>
  );
}
