import { Anchor, Badge, Group, Paper, Stack, Text, Title } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";

import { AddNode } from "./AddNode";
import { FirstJob } from "./FirstJob";
import { useMachines } from "./machines";
import { NotReady } from "./NotReady";
import { queries } from "@/api/queries";
import { mayWork, useIsAdmin, useMayDoAll, useMe } from "@/app/session";
import { PasswordForm } from "@/pages/profile/PasswordForm";
import { Command } from "@/parts/Command";
import { plural, useLanguage } from "@/words/language";

/** Leads an admin from nothing to a first job on a second machine. What is done already is known from the API. */
export function WelcomePage() {
  const { words } = useLanguage();
  const me = useMe();
  const mayDoAll = useMayDoAll();
  const jobs = useQuery(queries.jobTotal({}));
  return (
    <Stack gap="sm" maw={800}>
      <Title order={1} size="h3">
        {words.welcome.title}
      </Title>
      <Text size="sm">{words.welcome.lead}</Text>
      <Step number={1} title={words.welcome.password} isDone={me.hasPassword}>
        <Text size="sm">{me.hasPassword ? words.welcome.passwordDone : words.welcome.passwordWhy}</Text>
        {!me.hasPassword && mayDoAll && <PasswordForm />}
      </Step>
      <Machines />
      <Check />
      <Step number={4} title={words.welcome.job} isDone={(jobs.data?.total ?? 0) > 0}>
        {mayWork(me) && <FirstJob />}
      </Step>
    </Stack>
  );
}

interface StepProps {
  number: number;
  title: string;
  isDone: boolean;
  children: ReactNode;
}

function Step({ number, title, isDone, children }: StepProps) {
  const { words } = useLanguage();
  return (
    <Paper withBorder p="sm" component="section" aria-label={title}>
      <Group gap="xs" mb="xs">
        <Title order={2} size="h5">
          {number}. {title}
        </Title>
        <Badge size="sm" variant="default" tt="none">
          {isDone ? words.welcome.done : words.welcome.open}
        </Badge>
      </Group>
      <Stack gap="xs">{children}</Stack>
    </Paper>
  );
}

function Machines() {
  const { language, words } = useLanguage();
  const isAdmin = useIsAdmin();
  const { added, cluster } = useMachines();
  const ready = added.filter((node) => node.state === "Ready").map((node) => node.name);
  const others = added.filter((node) => node.state !== "Ready");
  return (
    <Step number={2} title={words.welcome.node} isDone={ready.length > 0}>
      <Text size="sm">{words.welcome.nodeWhy}</Text>
      {ready.length > 0 && (
        <Text size="sm">{plural(language, words.welcome.nodeDone, ready.length, { names: ready.join(", ") })}</Text>
      )}
      {others.length > 0 && <NotReady nodes={others} />}
      {isAdmin ? <AddNode cluster={cluster} /> : <Text size="sm">{words.welcome.nodeAdmin}</Text>}
    </Step>
  );
}

function Check() {
  const { language, words } = useLanguage();
  const alerts = useQuery(queries.alerts());
  const total = alerts.data?.total ?? 0;
  return (
    <Step number={3} title={words.welcome.check} isDone={alerts.data !== undefined && total === 0}>
      <Text size="sm">{words.welcome.checkWhy}</Text>
      {total > 0 ? (
        <Anchor size="sm" renderRoot={(props) => <Link {...props} to="/alerts" />}>
          {plural(language, words.welcome.checkOpen, total)}
        </Anchor>
      ) : (
        <Text size="sm">{words.welcome.checkDone}</Text>
      )}
      <Command line="muster cluster check --connect" />
    </Step>
  );
}
