import Anser from "anser";

import { foldReturns, withoutControls } from "./folding";

/** A piece of a line with one look. Colours are names, which the style sheet of the log knows; nothing is markup. */
export interface Span {
  text: string;
  colour?: string;
  ground?: string;
  isBold?: boolean;
  isDim?: boolean;
  isItalic?: boolean;
  isUnderlined?: boolean;
  isMatch?: boolean;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];
const COLOURS = [...NAMES, ...NAMES.map((name) => `bright-${name}`)];
const SHADES: [number, number, number][] = [
  [0, 0, 0],
  [187, 0, 0],
  [0, 187, 0],
  [187, 187, 0],
  [0, 0, 187],
  [187, 0, 187],
  [0, 187, 187],
  [187, 187, 187],
  [85, 85, 85],
  [255, 85, 85],
  [0, 255, 0],
  [255, 255, 85],
  [85, 85, 255],
  [255, 85, 255],
  [85, 255, 255],
  [255, 255, 255],
];
const PALETTE_STEPS = [0, 95, 135, 175, 215, 255];

/** The spans of a line as it was printed. */
export function spansOf(line: string): Span[] {
  const shown = withoutControls(foldReturns(line));
  if (!shown.includes("\x1b")) return shown ? [{ text: shown }] : [];
  return Anser.ansiToJson(shown, { use_classes: true, json: true, remove_empty: true })
    .filter((entry) => entry.content)
    .map(spanOf);
}

function spanOf(entry: Anser.AnserJsonEntry): Span {
  const span: Span = { text: entry.content };
  const [colour, ground] = [named(entry.fg, entry.fg_truecolor), named(entry.bg, entry.bg_truecolor)];
  if (colour) span.colour = colour;
  if (ground) span.ground = ground;
  if (entry.decorations.includes("bold")) span.isBold = true;
  if (entry.decorations.includes("dim")) span.isDim = true;
  if (entry.decorations.includes("italic")) span.isItalic = true;
  if (entry.decorations.includes("underline")) span.isUnderlined = true;
  return span;
}

/** The name of one of the 16 colours; of the 256 and of true colours, the nearest of them. */
function named(colour: string | null, trueColour: string | null): string | undefined {
  if (!colour) return undefined;
  const name = colour.replace(/^ansi-/, "");
  if (COLOURS.includes(name)) return name;
  const palette = /^palette-(\d+)$/.exec(name);
  if (palette) return nearest(shadeOfPalette(Number(palette[1])));
  const [red = 0, green = 0, blue = 0] = (trueColour ?? "").split(",").map(Number);
  return nearest([red, green, blue]);
}

function shadeOfPalette(index: number): [number, number, number] {
  if (index < 16) return SHADES[index] ?? [0, 0, 0];
  if (index >= 232) {
    const grey = 8 + (index - 232) * 10;
    return [grey, grey, grey];
  }
  const step = (place: number) => PALETTE_STEPS[Math.floor((index - 16) / place) % 6] ?? 0;
  return [step(36), step(6), step(1)];
}

function nearest(shade: [number, number, number]): string {
  const distance = (other: [number, number, number]) =>
    other.reduce((sum, part, i) => sum + (part - shade[i]!) ** 2, 0);
  let best = 0;
  SHADES.forEach((other, index) => {
    if (distance(other) < distance(SHADES[best]!)) best = index;
  });
  return COLOURS[best]!;
}

/** The spans with the parts that contain the text marked, also where a match begins in one span and ends in another. */
export function marked(spans: Span[], text: string): Span[] {
  if (!text) return spans;
  const whole = spans.map((span) => span.text).join("");
  const [hay, needle] = [whole.toLowerCase(), text.toLowerCase()];
  if (hay.length !== whole.length) return spans; // lower case has other positions in a few scripts
  const cuts: [number, number][] = [];
  for (let at = hay.indexOf(needle); at >= 0 && cuts.length < 100; at = hay.indexOf(needle, at + needle.length)) {
    cuts.push([at, at + needle.length]);
  }
  return cuts.length ? cutAt(spans, cuts) : spans;
}

function cutAt(spans: Span[], cuts: [number, number][]): Span[] {
  const out: Span[] = [];
  let start = 0;
  for (const span of spans) {
    const end = start + span.text.length;
    const inside = cuts.filter(([from, to]) => from < end && to > start);
    let at = start;
    for (const [from, to] of inside) {
      const [left, right] = [Math.max(from, start), Math.min(to, end)];
      if (left > at) out.push({ ...span, text: span.text.slice(at - start, left - start) });
      out.push({ ...span, text: span.text.slice(left - start, right - start), isMatch: true });
      at = right;
    }
    if (at < end) out.push({ ...span, text: span.text.slice(at - start) });
    start = end;
  }
  return out;
}
