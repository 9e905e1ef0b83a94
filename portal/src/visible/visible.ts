/* eslint-disable no-control-regex -- control characters are what this is about */
/** Characters that turn the text after them around, or are not seen at all: they can make a text look like another. */
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/gu;

export const marked = (code: number): string => `‹U+${code.toString(16).toUpperCase().padStart(4, "0")}›`;

/** The text with a mark in place of each such character. Every text that React shows goes through here. */
export function visible(text: string): string {
  return text.search(HIDDEN) < 0 ? text : text.replace(HIDDEN, (each) => marked(each.codePointAt(0) ?? 0));
}

/** Which such characters a text has, as marks, each once. For texts that are edited, which must stay as they are. */
export const hiddenIn = (text: string): string[] =>
  [...new Set(text.match(HIDDEN))].map((each) => marked(each.codePointAt(0) ?? 0));

/** The same characters, for the editor. */
export const HIDDEN_CHARACTERS = HIDDEN;
