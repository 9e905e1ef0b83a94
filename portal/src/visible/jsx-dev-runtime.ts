/** The same for the development server, whose functions take more arguments. */
import type { ElementType, Key } from "react";

import { jsx, jsxs } from "./jsx-runtime";

export { Fragment } from "./jsx-runtime";
export type { JSX } from "./jsx-runtime";

export const jsxDEV = (type: ElementType, props: Record<string, unknown>, key?: Key, hasSeveral?: boolean) =>
  (hasSeveral ? jsxs : jsx)(type, props, key);
