import { Button, TextInput } from "@mantine/core";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { answer, api, type Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useMayDoAll, useMe } from "@/app/session";
import { PasswordField } from "@/parts/PasswordField";
import { bytesText } from "@/parts/amounts";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { PlusIcon } from "@/parts/icons";
import { Listing, type Part } from "@/parts/Listing";
import { Section } from "@/parts/Section";
import { Ago } from "@/parts/Time";
import { fill, named, useWords } from "@/words/language";

type Secret = Schemas["SecretOut"];

/** The names of the reader's secrets. Values go to the server, and never come back. */
export function Secrets() {
  const words = useWords();
  const me = useMe();
  const mayDoAll = useMayDoAll();
  const secrets = useQuery(queries.secrets());
  const [isSetting, setSetting] = useState(false);
  const [removing, setRemoving] = useState<Secret | null>(null);
  const own = secrets.data?.items.filter((secret) => secret.owner === me.user);
  const parts: Part<Secret>[] = [
    { label: words.profile.name, cell: (secret) => secret.name },
    { label: words.profile.kind, cell: (secret) => named(words.profile.kinds, secret.kind) },
    { label: words.profile.size, cell: (secret) => bytesText(secret.sizeBytes), isNumber: true },
    { label: words.profile.updated, cell: (secret) => <Ago at={secret.updatedAt} /> },
  ];
  if (mayDoAll) {
    parts.push({
      label: words.profile.acts,
      cell: (secret) => (
        <Button variant="default" size="compact-xs" onClick={() => setRemoving(secret)}>
          {words.profile.remove}
        </Button>
      ),
    });
  }
  return (
    <Section
      title={words.profile.secrets}
      text={words.profile.secretsWhy}
      aside={
        mayDoAll && (
          <Button variant="default" leftSection={<PlusIcon />} onClick={() => setSetting(true)}>
            {words.profile.setSecret}
          </Button>
        )
      }
    >
      {secrets.error && <ProblemBox error={secrets.error} onRetry={() => void secrets.refetch()} />}
      {secrets.isPending && <Loading />}
      {own?.length === 0 && <EmptyState title={words.profile.noSecrets} />}
      {!!own?.length && (
        <Listing label={words.profile.secrets} parts={parts} rows={own} keyOf={(secret) => secret.name} />
      )}
      {isSetting && <Setting onClose={() => setSetting(false)} />}
      {removing && <Removing name={removing.name} onClose={() => setRemoving(null)} />}
    </Section>
  );
}

function Setting({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const setting = useSecretAct(
    () =>
      answer(
        api.PUT("/api/v1/secrets/{name}", {
          params: { path: { name } },
          body: value,
          bodySerializer: (text) => text,
          headers: { "Content-Type": "application/octet-stream" },
        }),
      ),
    onClose,
  );
  return (
    <ConfirmDialog
      isOpen
      title={words.profile.setSecret}
      commands={[`muster secret set ${quoted(name || "NAME")}`]}
      confirm={words.profile.set}
      isPending={setting.isPending}
      isReady={name !== "" && value !== ""}
      error={setting.error}
      onConfirm={() => setting.mutate()}
      onClose={onClose}
    >
      <TextInput
        label={words.profile.name}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <PasswordField
        label={words.profile.value}
        autoComplete="off"
        value={value}
        onChange={(event) => setValue(event.currentTarget.value)}
      />
    </ConfirmDialog>
  );
}

function Removing({ name, onClose }: { name: string; onClose: () => void }) {
  const words = useWords();
  const removing = useSecretAct(
    () => answer(api.DELETE("/api/v1/secrets/{name}", { params: { path: { name } } })),
    onClose,
  );
  return (
    <ConfirmDialog
      isOpen
      title={fill(words.profile.removeSecret, { name })}
      commands={[`muster delete ${quoted(`secret/${name}`)}`]}
      confirm={words.profile.remove}
      isDangerous
      isPending={removing.isPending}
      error={removing.error}
      onConfirm={() => removing.mutate()}
      onClose={onClose}
    />
  );
}

function useSecretAct(perform: () => Promise<unknown>, onDone: () => void) {
  const client = useQueryClient();
  return useMutation({
    mutationFn: perform,
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["secrets"] });
      onDone();
    },
  });
}
