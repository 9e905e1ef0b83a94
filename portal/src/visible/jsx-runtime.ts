/**
 * React's own functions behind JSX, which show the texts of elements with their hidden characters made visible. It
 * stands here, once, so that no page can forget it: names, labels, logs and specs are written by people.
 */
import type { ElementType, Key, ReactElement } from "react";
import * as react from "react/jsx-runtime";

import { visible } from "./visible";

export type { JSX } from "react/jsx-runtime";
export const Fragment = react.Fragment;

type Props = Readonly<Record<string, unknown>>;
type Make = (type: ElementType, props: Props, key?: Key) => ReactElement;

/** What a person edits stays as it is. */
const EDITED: readonly ElementType[] = ["textarea", "option"];
const SHOWN = ["children", "title", "aria-label"] as const;

const withVisibleTexts =
  (make: Make): Make =>
  (type, props, key) =>
    make(type, EDITED.includes(type) ? props : shown(props), key);

export const jsx = withVisibleTexts(react.jsx as Make);
export const jsxs = withVisibleTexts(react.jsxs as Make);

function shown(props: Props): Props {
  let found = props;
  for (const name of SHOWN) {
    const value = visibleIn(props[name]);
    if (value !== props[name]) found = { ...found, [name]: value };
  }
  return found;
}

function visibleIn(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (!Array.isArray(value)) return value;
  return value.some((each) => visibleIn(each) !== each) ? value.map(visibleIn) : value;
}
