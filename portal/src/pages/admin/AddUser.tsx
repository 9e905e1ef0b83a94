import { Select, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { namesIn } from "./people";
import { answer, api, type Schemas } from "@/api/client";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { PasswordField } from "@/parts/PasswordField";
import { useWords } from "@/words/language";

export type Role = Schemas["UserRole"];
export const ROLES: Role[] = ["user", "admin"];

export function AddUser({ onClose }: { onClose: () => void }) {
  const words = useWords();
  const client = useQueryClient();
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("user");
  const [groups, setGroups] = useState("");
  const [password, setPassword] = useState("");
  const adding = useMutation({
    mutationFn: () =>
      answer(
        api.POST("/api/v1/users", { body: { name, role, groups: namesIn(groups), ...(password && { password }) } }),
      ),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["users"] });
      onClose();
    },
  });
  return (
    <ConfirmDialog
      isOpen
      title={words.admin.addUser}
      commands={[addCommand(name, role, namesIn(groups), password !== "")]}
      confirm={words.admin.add}
      isPending={adding.isPending}
      isReady={name !== ""}
      error={adding.error}
      onConfirm={() => adding.mutate()}
      onClose={onClose}
    >
      <TextInput
        label={words.admin.name}
        value={name}
        onChange={(event) => setName(event.currentTarget.value)}
        data-autofocus
      />
      <Select
        label={words.admin.role}
        data={ROLES.map((value) => ({ value, label: words.admin.roles[value] }))}
        value={role}
        onChange={(value) => value && setRole(value)}
        allowDeselect={false}
      />
      <TextInput
        label={words.admin.groups}
        description={words.admin.groupsHint}
        value={groups}
        onChange={(event) => setGroups(event.currentTarget.value)}
      />
      <PasswordField
        label={words.admin.password}
        description={words.admin.passwordOptional}
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
      />
    </ConfirmDialog>
  );
}

export function addCommand(name: string, role: Role, groups: string[], hasPassword: boolean): string {
  const line = ["muster users add", quoted(name || "NAME"), "--role", role];
  for (const group of groups) line.push("--group", quoted(group));
  if (!hasPassword) line.push("--no-password");
  return line.join(" ");
}
