/* eslint-disable no-control-regex -- control characters are what this file is about */

const COLOURS = /\x1b\[[0-9;:]*m/g;
const MOST_KEPT_COLOURS = 8;

/**
 * What a terminal shows of a line in which carriage returns went back to its beginning, as progress bars do: the last
 * frame that has a text, in the colours that were set before it.
 */
export function foldReturns(line: string): string {
  if (!line.includes("\r")) return line;
  const frames = line.split("\r");
  let last = frames.length - 1;
  while (last > 0 && !frames[last]) last -= 1;
  const before = frames.slice(0, last).join("").match(COLOURS) ?? [];
  return before.slice(-MOST_KEPT_COLOURS).join("") + (frames[last] ?? "");
}

const OPERATING_SYSTEM_COMMAND = /\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)/g;
const CONTROL_SEQUENCE = /[\x1b\x9b]\[?[0-9;:<=>?]*[ -/]*[@-~]/g;
const OTHER_CONTROLS = /[\x00-\x08\x0a-\x1a\x1c-\x1f\x7f-\x9f]/g;
const LONE_ESCAPE = /\x1b(?!\[[0-9;:]*m)/g;
const BACKSPACED = /[^\x08\x1b]\x08/;

/**
 * The line without everything by which terminals move, hide or erase text; only colours are left. Characters that turn
 * text around stay: the page shows them as marks.
 */
export function withoutControls(line: string): string {
  return overstruck(line)
    .replace(OPERATING_SYSTEM_COMMAND, "")
    .replace(CONTROL_SEQUENCE, (sequence) => (/^\x1b\[[0-9;:]*m$/.test(sequence) ? sequence : ""))
    .replace(OTHER_CONTROLS, "")
    .replace(LONE_ESCAPE, "");
}

/** Backspaces take the character before them; a line of many is not worth the work. */
function overstruck(line: string): string {
  let shown = line;
  for (let rounds = 0; rounds < 200 && BACKSPACED.test(shown); rounds += 1) shown = shown.replace(BACKSPACED, "");
  return shown;
}

/** The bare text, for copying and comparing. */
export const plainText = (line: string): string => withoutControls(foldReturns(line)).replace(COLOURS, "");
