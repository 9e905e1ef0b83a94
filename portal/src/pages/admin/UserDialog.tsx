import { Select, Text, TextInput } from "@mantine/core";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { ROLES, type Role } from "./AddUser";
import { Identities } from "./Identities";
import { namesIn } from "./people";
import { answer, api, type Schemas } from "@/api/client";
import { isLongEnough } from "@/pages/profile/passwords";
import { quoted } from "@/parts/Command";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { PasswordField } from "@/parts/PasswordField";
import { fill, useWords } from "@/words/language";

type User = Schemas["UserOut"];
type Patch = Partial<Schemas["UserPatch"]>;
export type UserAct = "edit" | "resetPassword" | "identities" | "disable" | "enable" | "remove";

interface UserDialogProps {
  user: User;
  act: UserAct;
  onClose: () => void;
}

/** One act on a user, confirmed. */
export function UserDialog({ user, act, onClose }: UserDialogProps) {
  switch (act) {
    case "edit":
      return <Edit user={user} onClose={onClose} />;
    case "resetPassword":
      return <ResetPassword user={user} onClose={onClose} />;
    case "identities":
      return <Identities user={user} onClose={onClose} />;
    default:
      return <Ask user={user} act={act} onClose={onClose} />;
  }
}

type One = Omit<UserDialogProps, "act">;

function Edit({ user, onClose }: One) {
  const words = useWords();
  const [role, setRole] = useState(user.role as Role);
  const [groups, setGroups] = useState(user.groups.join(" "));
  const patching = useUserAct(user, { role, groups: namesIn(groups) }, onClose);
  const names = namesIn(groups).map(quoted).join(" ");
  return (
    <ConfirmDialog
      isOpen
      title={fill(words.admin.editUser, { name: user.name })}
      text={role === user.role ? undefined : words.admin.roleByApi}
      commands={[`muster users groups ${quoted(user.name)} ${names || "--none"}`]}
      confirm={words.common.save}
      isPending={patching.isPending}
      error={patching.error}
      onConfirm={() => patching.mutate()}
      onClose={onClose}
    >
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
    </ConfirmDialog>
  );
}

function ResetPassword({ user, onClose }: One) {
  const words = useWords();
  const [password, setPassword] = useState("");
  const patching = useUserAct(user, { password }, onClose);
  return (
    <ConfirmDialog
      isOpen
      title={words.admin.resetPassword}
      text={fill(words.admin.resetAsk, { name: user.name })}
      commands={[`muster users passwd ${quoted(user.name)}`]}
      confirm={words.common.save}
      isPending={patching.isPending}
      isReady={isLongEnough(password)}
      error={patching.error}
      onConfirm={() => patching.mutate()}
      onClose={onClose}
    >
      <PasswordField
        label={words.profile.newPassword}
        description={words.profile.passwordRule}
        autoComplete="new-password"
        value={password}
        onChange={(event) => setPassword(event.currentTarget.value)}
        data-autofocus
      />
    </ConfirmDialog>
  );
}

type Asked = "disable" | "enable" | "remove";

function Ask({ user, act, onClose }: One & { act: Asked }) {
  const words = useWords();
  const doing = useUserAct(user, act === "remove" ? null : { disabled: act === "disable" }, onClose);
  const asks: Record<Asked, string> = {
    disable: words.admin.disableAsk,
    enable: words.admin.enableAsk,
    remove: words.admin.removeAsk,
  };
  return (
    <ConfirmDialog
      isOpen
      title={words.admin[act]}
      commands={[`muster users ${act} ${quoted(user.name)}`]}
      confirm={words.admin[act]}
      isDangerous={act !== "enable"}
      isPending={doing.isPending}
      error={doing.error}
      onConfirm={() => doing.mutate()}
      onClose={onClose}
    >
      <Text size="sm">{fill(asks[act], { name: user.name })}</Text>
    </ConfirmDialog>
  );
}

/** Changes the user, or removes them if there is no change. */
function useUserAct(user: User, patch: Patch | null, onDone: () => void) {
  const client = useQueryClient();
  const params = { path: { name: user.name } };
  return useMutation({
    mutationFn: async (): Promise<unknown> =>
      patch === null
        ? answer(api.DELETE("/api/v1/users/{name}", { params }))
        : answer(api.PATCH("/api/v1/users/{name}", { params, body: { endTokens: false, ...patch } })),
    onSuccess: () => {
      void client.invalidateQueries({ queryKey: ["users"] });
      void client.invalidateQueries({ queryKey: ["tokens"] });
      onDone();
    },
  });
}
