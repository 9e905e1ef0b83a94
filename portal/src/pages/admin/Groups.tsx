import { Anchor, Group } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";

import { groupsOf } from "./people";
import { queries } from "@/api/queries";
import { EmptyState, Loading, ProblemBox } from "@/parts/feedback";
import { Command } from "@/parts/Command";
import { Listing } from "@/parts/Listing";
import { useWords } from "@/words/language";

/** Groups are names that users carry; access lists of virtual clusters and folders know them. */
export function Groups() {
  const words = useWords();
  const users = useQuery(queries.users());
  if (users.error && !users.data) return <ProblemBox error={users.error} onRetry={() => void users.refetch()} />;
  if (!users.data) return <Loading />;
  const groups = groupsOf(users.data.items);
  if (groups.length === 0) {
    return (
      <EmptyState title={words.admin.noGroups}>
        <Command line="muster users groups NAME GROUP" />
      </EmptyState>
    );
  }
  return (
    <Listing
      label={words.admin.groups}
      rows={groups}
      keyOf={(group) => group.name}
      parts={[
        { label: words.admin.group, cell: (group) => group.name },
        {
          label: words.admin.members,
          cell: (group) => (
            <Group gap={8}>
              {group.members.map((name) => (
                <Anchor
                  key={name}
                  size="sm"
                  renderRoot={(props) => <Link {...props} to="/admin" search={{ tab: "users", text: name }} />}
                >
                  {name}
                </Anchor>
              ))}
            </Group>
          ),
        },
      ]}
    />
  );
}
