import { Alert, Button, Checkbox, Stack } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState, type SyntheticEvent } from "react";

import { isLongEnough } from "./passwords";
import { answer, api } from "@/api/client";
import { useMe } from "@/app/session";
import { Command } from "@/parts/Command";
import { PasswordField } from "@/parts/PasswordField";
import { ProblemBox } from "@/parts/feedback";
import { useWords } from "@/words/language";

const EMPTY = { old: "", first: "", second: "", endTokens: false };

/** One's own password. The old one is asked for where there is one. */
export function PasswordForm() {
  const words = useWords();
  const me = useMe();
  const client = useQueryClient();
  const [form, setForm] = useState(EMPTY);
  const change = useMutation({
    mutationFn: () => {
      const body = {
        password: form.first,
        endTokens: form.endTokens,
        ...(me.hasPassword && { oldPassword: form.old }),
      };
      return answer(api.PATCH("/api/v1/users/{name}", { params: { path: { name: me.user } }, body }));
    },
    onSuccess: () => {
      setForm(EMPTY);
      void client.invalidateQueries({ queryKey: ["whoami"] });
      void client.invalidateQueries({ queryKey: ["tokens"] });
    },
  });
  const differs = form.second !== "" && form.second !== form.first;
  const isReady = isLongEnough(form.first) && form.first === form.second && (!me.hasPassword || form.old !== "");
  const submit = (event: SyntheticEvent) => {
    event.preventDefault();
    if (isReady) change.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack gap="xs" maw={420}>
        {change.isSuccess && <Alert color="green" role="status" title={words.profile.changed} />}
        {change.error && <ProblemBox error={change.error} />}
        {me.hasPassword && (
          <PasswordField
            label={words.profile.oldPassword}
            autoComplete="current-password"
            value={form.old}
            onChange={(event) => setForm({ ...form, old: event.currentTarget.value })}
          />
        )}
        <PasswordField
          label={words.profile.newPassword}
          description={words.profile.passwordRule}
          autoComplete="new-password"
          value={form.first}
          onChange={(event) => setForm({ ...form, first: event.currentTarget.value })}
        />
        <PasswordField
          label={words.profile.repeatPassword}
          autoComplete="new-password"
          error={differs && words.profile.passwordDiffers}
          value={form.second}
          onChange={(event) => setForm({ ...form, second: event.currentTarget.value })}
        />
        <Checkbox
          label={words.profile.endTokens}
          checked={form.endTokens}
          onChange={(event) => setForm({ ...form, endTokens: event.currentTarget.checked })}
        />
        <Button type="submit" disabled={!isReady} loading={change.isPending} w="fit-content">
          {me.hasPassword ? words.profile.change : words.welcome.passwordSet}
        </Button>
        <Command line={form.endTokens ? "muster users passwd --end-tokens" : "muster users passwd"} />
      </Stack>
    </form>
  );
}
