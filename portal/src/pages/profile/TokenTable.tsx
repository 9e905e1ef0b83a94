import { Badge, Button, Group, Text } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas } from "@/api/client";
import { useMayDoAll } from "@/app/session";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { Listing, type Part } from "@/parts/Listing";
import { Ago } from "@/parts/Time";
import { fill, named, useWords } from "@/words/language";

type Token = Schemas["TokenOut"];

interface TokenTableProps {
  label: string;
  tokens: Token[];
  /** Whether they are tokens of several users. */
  hasUsers?: boolean;
}

/** Tokens and logins, each with what it allows and a way to end it. */
export function TokenTable({ label, tokens, hasUsers }: TokenTableProps) {
  const words = useWords();
  const mayDoAll = useMayDoAll();
  const [ending, setEnding] = useState<Token | null>(null);
  const parts: Part<Token>[] = [
    {
      label: words.profile.name,
      cell: (token) => (
        <Group gap={6}>
          {token.name}
          {token.isCurrent && (
            <Badge size="sm" variant="default" tt="none">
              {words.profile.current}
            </Badge>
          )}
        </Group>
      ),
    },
    {
      label: words.profile.scope,
      cell: (token) => (
        <>
          {named(words.profile.scopes, token.scope)}
          {token.job && (
            <Text span size="xs" className="soft">
              {" "}
              {fill(words.profile.onlyJob, { job: token.job })}
            </Text>
          )}
        </>
      ),
    },
    { label: words.profile.created, cell: (token) => <Ago at={token.createdAt} /> },
    {
      label: words.profile.used,
      cell: (token) => (token.lastUsedAt ? <Ago at={token.lastUsedAt} /> : words.profile.never),
    },
    {
      label: words.profile.expires,
      cell: (token) => (token.expiresAt ? <Ago at={token.expiresAt} /> : words.profile.never),
    },
  ];
  if (mayDoAll) {
    parts.push({
      label: words.profile.acts,
      cell: (token) => (
        <Button variant="default" size="compact-xs" onClick={() => setEnding(token)}>
          {token.isSession ? words.profile.endLogin : words.profile.revoke}
        </Button>
      ),
    });
  }
  if (hasUsers) parts.unshift({ label: words.admin.user, cell: (token) => token.user });
  return (
    <>
      <Listing label={label} parts={parts} rows={tokens} keyOf={(token) => token.id} />
      {ending && <Ending token={ending} onClose={() => setEnding(null)} />}
    </>
  );
}

function Ending({ token, onClose }: { token: Token; onClose: () => void }) {
  const words = useWords();
  const client = useQueryClient();
  const ending = useMutation({
    mutationFn: () => answer(api.DELETE("/api/v1/tokens/{token_id}", { params: { path: { token_id: token.id } } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: [token.isCurrent ? "whoami" : "tokens"] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      isOpen
      title={fill(token.isSession ? words.profile.endAsk : words.profile.revokeAsk, { name: token.name })}
      text={token.isCurrent ? words.profile.revokeOwn : undefined}
      commands={[`muster tokens revoke ${quoted(token.id)}`]}
      confirm={token.isSession ? words.profile.endLogin : words.profile.revoke}
      isDangerous
      isPending={ending.isPending}
      error={ending.error}
      onConfirm={() => ending.mutate()}
      onClose={onClose}
    />
  );
}
