import { expect, test } from "vitest";

import { addCommand } from "@/pages/admin/AddUser";
import { diffLines } from "@/pages/admin/diff";
import { aboutText, entryOf, isGrave, joined, MOST_ENTRIES } from "@/pages/admin/entries";
import { fileOf, limitAmounts, limitName } from "@/pages/admin/limits";
import { groupsOf, namesIn, usersMatching } from "@/pages/admin/people";
import { readAdminView } from "@/pages/admin/view";
import { readTicket } from "@/pages/login/ticket";
import { tokenCommand } from "@/pages/profile/NewToken";
import { addNodeCommand } from "@/pages/welcome/commands";
import { en } from "@/words/en";

const user = (name: string, groups: string[]) => ({
  id: name,
  name,
  role: "user",
  disabled: false,
  hasPassword: true,
  groups,
  createdAt: "2026-01-01T00:00:00Z",
});

test("a ticket is read out of the address, with where to go afterwards", () => {
  expect(readTicket("#login=abc%2Fd&/jobs")).toEqual({ ticket: "abc/d", target: "/jobs" });
  expect(readTicket("#login=abc")).toEqual({ ticket: "abc", target: "/" });
  expect(readTicket("#login=a%zz&//evil.example")?.ticket).toBe("a%zz");
  expect(readTicket("#/jobs")).toBeNull();
});

test("the address of the admin page takes only what it knows", () => {
  expect(readAdminView({ tab: "audit", actor: "li", since: "7d", more: 1 })).toEqual({
    tab: "audit",
    actor: "li",
    since: "7d",
  });
  expect(readAdminView({ tab: "nowhere", level: "all", text: 7 })).toEqual({ text: "7" });
});

test("groups are what users carry", () => {
  const users = [user("li", ["vision"]), user("ada", ["vision", "guests"])];
  expect(groupsOf(users)).toEqual([
    { name: "guests", members: ["ada"] },
    { name: "vision", members: ["ada", "li"] },
  ]);
  expect(usersMatching(users, " GUEST ").map((each) => each.name)).toEqual(["ada"]);
  expect(namesIn(" a, b，a  c")).toEqual(["a", "b", "c"]);
});

test("commands carry what was typed as one word each", () => {
  expect(addCommand("li", "user", ["a b"], false)).toBe("muster users add li --role user --group 'a b' --no-password");
  expect(tokenCommand("ci", "read", "30d")).toBe("muster tokens create ci --scope read --expires 30d");
  const node = { name: "gpu1", ssh: "u@h", keyFile: "/k y", trusts: true };
  expect(addNodeCommand(node, "lab")).toBe(
    "muster node add gpu1 --ssh u@h --cluster lab --key-file '/k y' --accept-host-key",
  );
});

test("lines of a difference say what they are", () => {
  expect(diffLines("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z\n").map((line) => line.kind)).toEqual([
    "head",
    "head",
    "head",
    "removed",
    "added",
    "same",
  ]);
});

test("log entries keep everything besides their usual fields", () => {
  const entry = entryOf({ timestamp: "t", level: "warning", event: "slow", ms: 3, why: "" });
  expect(entry).toEqual({ at: "t", level: "warning", event: "slow", rest: "ms=3" });
  expect(isGrave(entry, "warning")).toBe(true);
  expect(isGrave(entry, "error")).toBe(false);
  expect(joined(Array(MOST_ENTRIES).fill(entry), [entry])).toHaveLength(MOST_ENTRIES);
  expect(aboutText({ name: "x" }, "j1")).toBe("job=j1  name=x");
});

test("limits are told in their units", () => {
  expect(limitName(en, "tasksPerNode/lab")).toBe("tasks on a node · lab");
  expect(limitName(en, "newer")).toBe("newer");
  expect(limitAmounts("en", { kind: "logBytes", used: 1024, limit: 2048 })).toBe("1.0 KiB / 2.0 KiB");
  expect(limitAmounts("en", { kind: "openJobs", used: 1, limit: 2000 })).toBe("1 / 2,000");
});

test("a limit leads to the file of its cluster", () => {
  const file = (name: string, clusters: string[]) => ({ name, clusters }) as Parameters<typeof fileOf>[1][number];
  const files = [file("pool.yaml", ["lab"]), file("vision.yaml", [])];
  expect(fileOf("lab", files)).toBe("pool.yaml");
  expect(fileOf("vision", files)).toBe("vision.yaml");
  expect(fileOf("speech", files)).toBeUndefined();
});
