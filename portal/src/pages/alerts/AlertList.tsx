import { Paper, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";

import { AlertLine } from "./AlertLine";
import { notOfRules, worstFirst } from "./rule_alerts";
import { RuleAlertLine } from "./RuleAlertLine";
import { queries } from "@/api/queries";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { plural, useLanguage } from "@/words/language";

/** All alerts that the reader may see, the worst first: those of rules, and then the others, which the bell keeps up to
 * date. */
export function AlertList() {
  const { language, words } = useLanguage();
  const alerts = useQuery(queries.alerts());
  const ofRules = useQuery(queries.ruleAlerts(language));
  for (const asked of [alerts, ofRules])
    if (asked.error && !asked.data) return <ProblemBox error={asked.error} onRetry={() => void asked.refetch()} />;
  if (!alerts.data || !ofRules.data) return <Loading />;
  const others = notOfRules(alerts.data.items, ofRules.data.items);
  const total = others.length + ofRules.data.items.length;
  if (total === 0) return <EmptyState title={words.alerts.noneAtAll} />;
  return (
    <Stack gap="xs">
      <Text size="sm" className="soft">
        {plural(language, words.alerts.count, total)}
      </Text>
      {worstFirst(ofRules.data.items).map((alert) => (
        <Paper key={alert.id} withBorder p="xs">
          <RuleAlertLine alert={alert} />
        </Paper>
      ))}
      {others.map((alert) => (
        <Paper key={alert.id} withBorder p="xs">
          <AlertLine alert={alert} />
        </Paper>
      ))}
    </Stack>
  );
}
