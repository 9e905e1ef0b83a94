import { Group, Kbd, Modal, Table } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { useNavigate } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { usePlaces } from "./places";
import { useLanguage } from "@/words/language";

const CHORD_MS = 1_000;

/** Whether what is typed belongs into a field. */
export function isTyping(event: KeyboardEvent): boolean {
  const target = event.composedPath()[0];
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button", "range"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}

/** Calls the handler for each key that is not typed into a field and comes without Ctrl, Alt or Meta. */
export function useKeys(handler: (key: string, event: KeyboardEvent) => void): void {
  const current = useRef(handler);
  useEffect(() => {
    current.current = handler;
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (isTyping(event) || event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (document.querySelector('[role="dialog"]') && event.key !== "Escape") return;
      current.current(event.key, event);
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
}

/** Enter and Esc lead from the search of the page to what it has found. */
function useLeavingSearch(): void {
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.isComposing || !["Enter", "Escape"].includes(event.key)) return;
      if (event.target instanceof HTMLElement && event.target.matches("[data-page-search]")) event.target.blur();
    };
    document.addEventListener("keydown", listen);
    return () => document.removeEventListener("keydown", listen);
  }, []);
}

/** `?` lists the keys; `g` and a letter goes to a page; `/` goes to the search of the page. */
export function KeyboardHelp() {
  const { words } = useLanguage();
  const navigate = useNavigate();
  const [isOpen, help] = useDisclosure(false);
  const chord = useRef(0);
  const places = usePlaces();
  useLeavingSearch();
  useKeys((key, event) => {
    const isSecond = Date.now() - chord.current < CHORD_MS;
    chord.current = key === "g" ? Date.now() : 0;
    const place = isSecond ? places.find((each) => each.key === key) : undefined;
    if (place) void navigate({ to: place.to });
    else if (key === "?") help.open();
    else if (key === "/") {
      const search = document.querySelector<HTMLElement>("[data-page-search]");
      if (!search) return;
      event.preventDefault();
      search.focus();
    }
  });
  const keys: [string[], string][] = [
    [["/"], words.keys.search],
    [["j"], words.keys.next],
    [["k"], words.keys.previous],
    [["x"], words.keys.select],
    [["Enter"], words.keys.open],
    [["Esc"], words.keys.escape],
    [["Ctrl", "K"], words.keys.commands],
    [["?"], words.keys.help],
    ...places.flatMap((place): [string[], string][] =>
      place.key ? [[["g", place.key], words.navigation[place.name]]] : [],
    ),
  ];
  return (
    <Modal opened={isOpen} onClose={help.close} title={words.shell.help}>
      <Table>
        <Table.Tbody>
          {keys.map(([pressed, meaning]) => (
            <Table.Tr key={pressed.join()}>
              <Table.Td>
                <Group gap={4}>
                  {pressed.map((key) => (
                    <Kbd key={key}>{key}</Kbd>
                  ))}
                </Group>
              </Table.Td>
              <Table.Td>{meaning}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Modal>
  );
}
