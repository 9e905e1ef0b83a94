import { ActionIcon, Anchor, Indicator, Popover, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { useIsAdmin } from "./session";
import { queries } from "@/api/queries";
import { AlertLine } from "@/pages/alerts/AlertLine";
import { useLiveAlerts } from "@/pages/alerts/live_alerts";
import { BellIcon } from "@/parts/icons";
import { plural, useLanguage } from "@/words/language";

const SHOWN = 6;

/** How many alerts concern the reader, and the worst of them. */
export function AlertBell() {
  const { language, words } = useLanguage();
  const isAdmin = useIsAdmin();
  const [isOpen, popover] = useDisclosure(false);
  const alerts = useQuery(queries.myAlerts());
  useLiveAlerts();
  const count = alerts.data?.total ?? 0;
  return (
    <Indicator label={count > 99 ? "99+" : count} size={14} color="var(--owner-6)" disabled={count === 0} offset={4}>
      <Popover
        opened={isOpen}
        onChange={(open) => (open ? popover.open() : popover.close())}
        position="bottom-end"
        trapFocus
      >
        <Popover.Target>
          <ActionIcon aria-label={plural(language, words.alerts.bell, count)} onClick={popover.toggle}>
            <BellIcon />
          </ActionIcon>
        </Popover.Target>
        <Popover.Dropdown maw={380} aria-label={words.alerts.title}>
          <Stack gap="xs" onClick={popover.close}>
            {count === 0 && <Text size="sm">{words.alerts.none}</Text>}
            {alerts.data?.items.slice(0, SHOWN).map((alert) => (
              <AlertLine key={alert.id} alert={alert} />
            ))}
            <Anchor
              size="sm"
              renderRoot={(props) =>
                isAdmin ? <Link {...props} to="/admin" search={{ tab: "alerts" }} /> : <Link {...props} to="/alerts" />
              }
            >
              {words.alerts.all}
            </Anchor>
          </Stack>
        </Popover.Dropdown>
      </Popover>
    </Indicator>
  );
}
