import { useDebouncedCallback } from "@mantine/hooks";
import { useState } from "react";

/**
 * The text of a field whose value is kept elsewhere, such as in the address: it is told when the reader pauses, and
 * follows when the value is changed from elsewhere, but not by what was typed a moment ago.
 */
export function useDraft(
  value: string,
  tell: (value: string) => void,
  pauseMs = 300,
): [string, (text: string) => void] {
  const [draft, setDraft] = useState({ value, text: value, told: value });
  const tellLater = useDebouncedCallback((text: string) => {
    setDraft((old) => ({ ...old, told: text }));
    tell(text);
  }, pauseMs);
  if (draft.value !== value) setDraft({ ...draft, value, text: value === draft.told ? draft.text : value });
  const type = (text: string) => {
    setDraft((old) => ({ ...old, text }));
    tellLater(text);
  };
  return [draft.text, type];
}
