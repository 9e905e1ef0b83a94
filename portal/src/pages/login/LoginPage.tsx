import { Alert, Button, Card, Center, Stack, Text, TextInput, Title } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";

import { answer, api, ApiProblem } from "@/api/client";
import { queries } from "@/api/queries";
import { LanguageSwitch } from "@/parts/LanguageSwitch";
import { Command } from "@/parts/Command";
import { PasswordField } from "@/parts/PasswordField";
import { ProblemBox } from "@/parts/feedback";
import { fill, useWords } from "@/words/language";

/**
 * A user with a password, a token alone, or the identity provider. The server answers with a session cookie, and the
 * page of the address is shown. A server on which nobody has a password says how its admin gets in.
 */
export function LoginPage({ entryProblem }: { entryProblem: unknown }) {
  const words = useWords();
  const client = useQueryClient();
  const ways = useQuery(queries.loginWays());
  const [user, setUser] = useState("");
  const [password, setPassword] = useState("");
  const login = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/api/v1/login", { body: { name: "browser", ...(user ? { user, password } : { token: password }) } }),
      ),
    onSuccess: () => client.resetQueries(),
  });
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    login.mutate();
  };
  const isWrong = login.error instanceof ApiProblem && login.error.status === 401 && user !== "";
  const problem = login.error ? (isWrong ? new Error(words.login.wrong) : login.error) : entryProblem;
  const target = encodeURIComponent(/^#(\/[^?]*)/.exec(window.location.hash)?.[1] ?? "/");
  return (
    <Center component="main" mih="100vh" p="md">
      <Card withBorder w={400} maw="100%" component="form" onSubmit={submit}>
        <Stack gap="sm">
          <Title order={1} size="h3">
            {words.login.title}
          </Title>
          {!!problem && <ProblemBox error={problem} />}
          {ways.data?.firstStart && (
            <Alert title={words.login.firstStart}>
              <Text size="sm" mb={4}>
                {words.login.firstStartHow}
              </Text>
              <Command line={ways.data.firstStart.command} />
            </Alert>
          )}
          <TextInput
            label={words.login.user}
            description={words.login.userHint}
            autoComplete="username"
            value={user}
            onChange={(event) => setUser(event.currentTarget.value)}
          />
          <PasswordField
            label={words.login.token}
            autoComplete="current-password"
            required
            value={password}
            onChange={(event) => setPassword(event.currentTarget.value)}
          />
          <Button type="submit" loading={login.isPending} size="sm">
            {words.login.logIn}
          </Button>
          {ways.data?.sso && (
            <Button component="a" variant="default" size="sm" href={`/api/v1/login/sso?target=${target}`}>
              {fill(words.login.signInWith, { name: ways.data.sso.name })}
            </Button>
          )}
          <LanguageSwitch />
        </Stack>
      </Card>
    </Center>
  );
}
