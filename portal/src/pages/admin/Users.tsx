import { Badge, Button, Group, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, useNavigate } from "@tanstack/react-router";
import { useState } from "react";

import { AddUser } from "./AddUser";
import { UserDialog, type UserAct } from "./UserDialog";
import { usersMatching } from "./people";
import type { Schemas } from "@/api/client";
import { queries } from "@/api/queries";
import { useMe } from "@/app/session";
import { useDraft } from "@/parts/draft";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { PlusIcon } from "@/parts/icons";
import { Listing, type Part } from "@/parts/Listing";
import { Ago } from "@/parts/Time";
import { named, useWords } from "@/words/language";

type User = Schemas["UserOut"];

const route = getRouteApi("/admin");

export function Users() {
  const words = useWords();
  const me = useMe();
  const { text = "" } = route.useSearch();
  const navigate = useNavigate({ from: "/admin" });
  const users = useQuery(queries.users());
  const [isAdding, setAdding] = useState(false);
  const [act, setAct] = useState<{ user: User; act: UserAct } | null>(null);
  const [draft, type] = useDraft(
    text,
    (value) => void navigate({ search: value ? { tab: "users", text: value } : { tab: "users" }, replace: true }),
  );
  if (users.error && !users.data) return <ProblemBox error={users.error} onRetry={() => void users.refetch()} />;
  if (!users.data) return <Loading />;
  const shown = usersMatching(users.data.items, text);
  const parts: Part<User>[] = [
    { label: words.admin.user, cell: (user) => user.name },
    { label: words.admin.role, cell: (user) => named(words.admin.roles, user.role) },
    { label: words.admin.groups, cell: (user) => user.groups.join(", ") || "–" },
    {
      label: words.admin.state,
      cell: (user) => (
        <Group gap={4}>
          <Badge size="sm" variant="default" tt="none">
            {user.disabled ? words.admin.disabled : words.admin.enabled}
          </Badge>
          {!user.hasPassword && (
            <Badge size="sm" variant="default" tt="none">
              {words.admin.noPassword}
            </Badge>
          )}
        </Group>
      ),
    },
    { label: words.admin.created, cell: (user) => <Ago at={user.createdAt} /> },
    {
      label: words.profile.acts,
      cell: (user) => (
        <Group gap={4}>
          {actsOn(user, me.user).map((each) => (
            <Button key={each} variant="default" size="compact-xs" onClick={() => setAct({ user, act: each })}>
              {words.admin[each]}
            </Button>
          ))}
        </Group>
      ),
    },
  ];
  return (
    <>
      <Group mb="xs" gap="xs">
        <TextInput
          aria-label={words.admin.findUser}
          placeholder={words.admin.findUser}
          value={draft}
          onChange={(event) => type(event.currentTarget.value)}
          data-page-search
        />
        <Button leftSection={<PlusIcon />} onClick={() => setAdding(true)}>
          {words.admin.addUser}
        </Button>
      </Group>
      {shown.length === 0 ? (
        <EmptyState title={words.admin.noUserMatch}>
          <Button variant="default" onClick={() => type("")}>
            {words.jobs.clear}
          </Button>
        </EmptyState>
      ) : (
        <Listing label={words.admin.tabs.users} parts={parts} rows={shown} keyOf={(user) => user.name} />
      )}
      {isAdding && <AddUser onClose={() => setAdding(false)} />}
      {act && <UserDialog {...act} onClose={() => setAct(null)} />}
    </>
  );
}

/** One's own account is neither disabled nor removed from here. */
const actsOn = (user: User, me: string): UserAct[] => [
  "edit",
  "resetPassword",
  "identities",
  ...(user.name === me ? [] : [user.disabled ? ("enable" as const) : ("disable" as const), "remove" as const]),
];
