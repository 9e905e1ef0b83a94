// Helpers that build the document. Everything from the server is inserted as text (textContent), never as markup.

import { language } from "./words.js";

export const at = (id) => document.getElementById(id);

export function make(tag, { text, className, ...properties } = {}, ...children) {
  const element = document.createElement(tag);
  if (text !== undefined && text !== null) element.textContent = String(text);
  if (className) element.className = className;
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

export const cell = (content, className) =>
  content instanceof Node ? make("td", { className }, content) : make("td", { text: content ?? "-", className });

export const stateMark = (state) => make("span", { text: state, className: `state ${state}` });

const drawn = new WeakMap();

// Draws only what has changed, so that the selection and the focus are kept.
export function patch(element, facts, build) {
  const key = JSON.stringify(facts);
  if (drawn.get(element) === key) return;
  drawn.set(element, key);
  element.replaceChildren(...[build(facts)].flat());
}

// ---- times and amounts ----------------------------------------------------------------------------------------------

const relative = new Intl.RelativeTimeFormat(language, { numeric: "always", style: "short" });

function ago(iso) {
  const seconds = (Date.parse(iso) - Date.now()) / 1000;
  for (const [unit, size] of [["day", 86400], ["hour", 3600], ["minute", 60]]) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return relative.format(Math.min(0, Math.trunc(seconds)), "second");
}

export function time(iso) {
  if (!iso) return "-";
  return make("time", { text: ago(iso), dateTime: iso, title: iso });
}

export function refreshTimes() {
  for (const element of document.querySelectorAll("time")) {
    const text = ago(element.dateTime);
    if (element.textContent !== text) element.textContent = text;
  }
}

// A duration in its two largest units, as the command line writes it.
export function duration(seconds) {
  let left = Math.round(seconds);
  const parts = [];
  for (const [unit, size] of [["d", 86400], ["h", 3600], ["m", 60], ["s", 1]]) {
    if (left >= size && parts.length < 2) parts.push(`${Math.floor(left / size)}${unit}`);
    left %= size;
  }
  return parts.join(" ") || "0s";
}

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

function unitOf(count) {
  let unit = 0;
  while (count >= 1024 ** (unit + 1) && unit < UNITS.length - 1) unit += 1;
  return unit;
}

const inUnit = (count, unit) => (unit === 0 ? String(Math.round(count)) : (count / 1024 ** unit).toFixed(1));

export function bytes(count) {
  const unit = unitOf(count);
  return `${inUnit(count, unit)} ${UNITS[unit]}`;
}

// Both numbers in the unit of the total, which is shown once.
export function bytesOf(used, total) {
  const unit = unitOf(total);
  return { used: isKnown(used) ? inUnit(used, unit) : "-", total: `${inUnit(total, unit)} ${UNITS[unit]}` };
}

const isKnown = (value) => value !== null && value !== undefined;

export const amountIn = (unit) => (value) => (isKnown(value) ? `${Math.round(value)} ${unit}` : "-");
export const percent = amountIn("%");

// Parses "2" or "750m" as a number of cores.
export const cores = (quantity) => {
  const text = String(quantity);
  return text.endsWith("m") ? Number(text.slice(0, -1)) / 1000 : Number(text);
};

export function tell(message) {
  at("problem").textContent = message;
  at("problem").hidden = !message;
}
