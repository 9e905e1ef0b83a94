import { Alert, Button, Group, Modal, Select, Stack, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas } from "@/api/client";
import { Command, quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { useWords } from "@/words/language";

type Scope = Schemas["TokenScope"];
const SCOPES: Scope[] = ["read", "submit", "admin"];
const LIFETIMES = ["1d", "30d", "90d", "365d", ""] as const;
type Lifetime = (typeof LIFETIMES)[number];

/** Makes a token, and shows its secret once. An admin makes one for another user, too. */
export function NewToken({ user, onClose }: { user?: string; onClose: () => void }) {
  const words = useWords();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [scope, setScope] = useState<Scope>("submit");
  const [lifetime, setLifetime] = useState<Lifetime>("30d");
  const making = useMutation({
    mutationFn: () => {
      const body = { name, scope, ...(lifetime && { expires: lifetime }), ...(user && { user }) };
      return answer(api.POST("/api/v1/tokens", { body }));
    },
    onSuccess: () => void client.invalidateQueries({ queryKey: ["tokens"] }),
  });
  if (making.data) {
    return (
      <Modal opened onClose={onClose} title={making.data.name} size="lg">
        <Stack gap="sm">
          <Alert title={words.profile.secretOnce} />
          <Command line={making.data.secret} />
          <Group justify="flex-end">
            <Button onClick={onClose}>{words.common.close}</Button>
          </Group>
        </Stack>
      </Modal>
    );
  }
  return (
    <ConfirmDialog
      isOpen
      title={words.profile.newToken}
      commands={[tokenCommand(name, scope, lifetime, user)]}
      confirm={words.profile.create}
      isPending={making.isPending}
      isReady={name !== ""}
      error={making.error}
      onConfirm={() => making.mutate()}
      onClose={onClose}
    >
      <TextInput
        label={words.profile.name}
        value={name}
        maxLength={100}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <Select
        label={words.profile.scope}
        data={SCOPES.map((value) => ({ value, label: words.profile.scopes[value] }))}
        value={scope}
        onChange={(value) => value && setScope(value)}
        allowDeselect={false}
      />
      <Select
        label={words.profile.lifetime}
        data={LIFETIMES.map((value) => ({ value, label: words.profile.lifetimes[value] }))}
        value={lifetime}
        onChange={(value) => setLifetime(value ?? "")}
        allowDeselect={false}
      />
    </ConfirmDialog>
  );
}

export function tokenCommand(name: string, scope: string, lifetime: string, user?: string): string {
  const line = ["muster tokens create", quoted(name || "NAME"), "--scope", scope];
  if (lifetime) line.push("--expires", lifetime);
  if (user) line.push("--user", quoted(user));
  return line.join(" ");
}
