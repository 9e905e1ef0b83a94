import type { Schemas } from "@/api/client";

type User = Schemas["UserOut"];

/** Those whose name or group has the text in it. */
export function usersMatching(users: readonly User[], text: string): User[] {
  const wanted = text.trim().toLowerCase();
  return users.filter((user) => [user.name, ...user.groups].some((each) => each.toLowerCase().includes(wanted)));
}

/** Each group with its members, by name. A group exists as long as somebody is in it. */
export function groupsOf(users: readonly User[]): { name: string; members: string[] }[] {
  const members = new Map<string, string[]>();
  for (const user of users) {
    for (const group of user.groups) members.set(group, [...(members.get(group) ?? []), user.name]);
  }
  return [...members]
    .map(([name, names]) => ({ name, members: names.sort() }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Names as somebody types them, separated by spaces or commas. */
export const namesIn = (text: string): string[] => [...new Set(text.split(/[\s,，]+/).filter((name) => name !== ""))];
