import { Alert, Group, Stack, Text, Title } from "@mantine/core";

import { Appearance } from "./Appearance";
import { Notices } from "./Notices";
import { OwnTokens } from "./OwnTokens";
import { PasswordForm } from "./PasswordForm";
import { Secrets } from "./Secrets";
import { useMayDoAll, useMe } from "@/app/session";
import { Section } from "@/parts/Section";
import { fill, named, useWords } from "@/words/language";

/** What belongs to the reader: password, notices, logins and tokens, secrets, language and colours. */
export function ProfilePage() {
  const words = useWords();
  const me = useMe();
  const mayDoAll = useMayDoAll();
  const facts: [string, string][] = [
    [words.admin.user, me.user],
    [words.profile.role, named(words.admin.roles, me.role)],
    [words.profile.groups, me.groups.join(", ") || words.common.none],
  ];
  return (
    <Stack gap="sm" maw={1000}>
      <Title order={1} size="h3">
        {words.profile.title}
      </Title>
      <Section title={words.profile.account}>
        <Group gap="xl" component="dl" m={0}>
          {facts.map(([label, value]) => (
            <div key={label}>
              <Text size="xs" className="soft" component="dt">
                {label}
              </Text>
              <Text size="sm" component="dd" m={0}>
                {value}
              </Text>
            </div>
          ))}
        </Group>
      </Section>
      <Appearance />
      {mayDoAll ? (
        <Section title={words.profile.password}>
          <PasswordForm />
        </Section>
      ) : (
        <Alert title={fill(words.profile.limited, { scope: named(words.profile.scopes, me.scope) })} />
      )}
      <Notices />
      <OwnTokens />
      <Secrets />
    </Stack>
  );
}
