import type { en } from "./en";

/** The same keys with any text: what a translation must have. */
type Shape<T> = { readonly [K in keyof T]: T[K] extends string ? string : Shape<T[K]> };

export type Words = Shape<typeof en>;

/** A text in its singular and plural form. */
export interface Plural {
  readonly one: string;
  readonly other: string;
}
