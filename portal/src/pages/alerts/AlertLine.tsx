import { Anchor, Badge, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { subjectOf } from "./subjects";
import type { Schemas } from "@/api/client";
import { Ago } from "@/parts/Time";
import { WithCode } from "@/parts/WithCode";
import { alertAdvice, alertText } from "@/words/coded";
import { useLanguage } from "@/words/language";

/** What is wrong, since when, what to do about it, and the way to what it is about. */
export function AlertLine({ alert }: { alert: Schemas["AlertOut"] }) {
  const { language, words } = useLanguage();
  const coded = { code: alert.kind, numbers: { name: alert.subject.name, ...alert.numbers } };
  const subject = subjectOf(alert);
  return (
    <div data-alert={alert.id}>
      <Group gap={6}>
        <Badge size="sm" variant="default" tt="none">
          {words.alerts.severities[alert.severity]}
        </Badge>
        {subject && (
          <Anchor size="sm" renderRoot={(props) => <Link {...props} {...subject} />}>
            {alert.subject.name}
          </Anchor>
        )}
        {alert.since && (
          <Text size="xs" className="soft">
            <Ago at={alert.since} />
          </Text>
        )}
      </Group>
      <Text size="sm">
        <WithCode text={alertText(language, { ...coded, message: alert.message })} />
      </Text>
      <Text size="xs" className="soft">
        <WithCode text={alertAdvice(language, { ...coded, message: alert.advice })} />
      </Text>
    </div>
  );
}
