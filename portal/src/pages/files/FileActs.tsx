import { List, TextInput } from "@mantine/core";
import { useMutation } from "@tanstack/react-query";
import { useState } from "react";

import { copy, makeFolder, move, remove } from "./calls";
import type { Entry } from "./Folder";
import { joined, remote, type Place } from "./view";
import { ConfirmDialog } from "@/parts/ConfirmDialog";
import { plural, useLanguage } from "@/words/language";

export type Act =
  { kind: "mkdir" } | { kind: "move" | "copy"; entry: Entry } | { kind: "remove"; entries: readonly Entry[] };

const MOST_NAMED = 12;

/** Asks before something is made, moved, copied or removed in a folder. */
export function FileActs({
  act,
  place,
  onClose,
  onDone,
}: {
  act: Act;
  place: Place;
  onClose: () => void;
  onDone: () => void;
}) {
  const { language, words } = useLanguage();
  const [target, setTarget] = useState(
    act.kind === "move" || act.kind === "copy" ? joined(place.path, act.entry.name) : "",
  );
  const doing = useMutation({
    mutationFn: () => perform(act, place, target.trim()),
    onSettled: onDone,
    onSuccess: onClose,
  });
  const isRemoval = act.kind === "remove";
  return (
    <ConfirmDialog
      isOpen
      title={isRemoval ? plural(language, words.files.removeNumber, act.entries.length) : words.files.acts[act.kind]}
      commands={commandsOf(act, place, target.trim())}
      confirm={words.files.confirm[act.kind]}
      isDangerous={isRemoval}
      isPending={doing.isPending}
      isReady={isRemoval || target.trim() !== ""}
      error={doing.error}
      onConfirm={() => doing.mutate()}
      onClose={onClose}
    >
      {isRemoval ? (
        <List size="sm">
          {act.entries.slice(0, MOST_NAMED).map((entry) => (
            <List.Item key={entry.name}>{joined(place.path, entry.name)}</List.Item>
          ))}
          {act.entries.length > MOST_NAMED && <List.Item>…</List.Item>}
        </List>
      ) : (
        <TextInput
          label={act.kind === "mkdir" ? words.files.name : words.files.target}
          value={target}
          onChange={(event) => setTarget(event.currentTarget.value)}
          data-autofocus
        />
      )}
    </ConfirmDialog>
  );
}

export function commandsOf(act: Act, place: Place, target: string): string[] {
  const here = (name: string): string => remote({ ...place, path: joined(place.path, name) });
  switch (act.kind) {
    case "mkdir":
      return [`muster fs mkdir ${here(target || "NAME")}`];
    case "move":
      return [`muster fs mv ${here(act.entry.name)} ${remote({ ...place, path: target })}`];
    case "copy":
      return [
        `muster fs cp ${act.entry.kind === "folder" ? "-r " : ""}${here(act.entry.name)} ${remote({ ...place, path: target })}`,
      ];
    case "remove": {
      const isDeep = act.entries.some((entry) => entry.kind === "folder");
      return [`muster fs rm ${isDeep ? "-r " : ""}${act.entries.map((entry) => here(entry.name)).join(" ")}`];
    }
  }
}

async function perform(act: Act, place: Place, target: string): Promise<void> {
  const at = (name: string): Place => ({ ...place, path: joined(place.path, name) });
  if (act.kind === "remove") for (const entry of act.entries) await remove(at(entry.name), entry.kind === "folder");
  else if (act.kind === "mkdir") await makeFolder(at(target));
  else if (act.kind === "move") await move(at(act.entry.name), target);
  else await copy(at(act.entry.name), target);
}
