import { Tabs, Text, Title } from "@mantine/core";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { AuditLog } from "./AuditLog";
import { AllTokens } from "./AllTokens";
import { ClusterFiles } from "./ClusterFiles";
import { Groups } from "./Groups";
import { Health } from "./Health";
import { Limits } from "./Limits";
import { ServerLog } from "./ServerLog";
import { Users } from "./Users";
import { TABS, type Tab } from "./view";
import { isAdmin, useMe } from "@/app/session";
import { AlertList } from "@/pages/alerts/AlertList";
import { EmptyState } from "@/parts/feedback";
import { fill, useWords } from "@/words/language";

const route = getRouteApi("/admin");

const PARTS: Record<Tab, () => ReactNode> = {
  users: Users,
  groups: Groups,
  tokens: AllTokens,
  limits: Limits,
  files: ClusterFiles,
  alerts: AlertList,
  audit: AuditLog,
  log: ServerLog,
  health: Health,
};

/** What admins look after. Others are told why they see nothing here. */
export function AdminPage() {
  const words = useWords();
  const me = useMe();
  const { tab = "users" } = route.useSearch();
  const navigate = useNavigate({ from: "/admin" });
  if (!isAdmin(me)) {
    return (
      <>
        <Title order={1} size="h3">
          {words.admin.title}
        </Title>
        <EmptyState title={words.admin.refused}>
          <Text size="sm">{fill(words.admin.refusedWhy, { user: me.user })}</Text>
        </EmptyState>
      </>
    );
  }
  const Part = PARTS[tab];
  return (
    <>
      <Title order={1} size="h3" mb="xs">
        {words.admin.title}
      </Title>
      <Tabs
        value={tab}
        onChange={(value) => void navigate({ search: { tab: value as Tab } })}
        keepMounted={false}
        activateTabWithKeyboard={false}
      >
        <Tabs.List mb="sm">
          {TABS.map((each) => (
            <Tabs.Tab key={each} value={each}>
              {words.admin.tabs[each]}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          <Part />
        </Tabs.Panel>
      </Tabs>
    </>
  );
}
