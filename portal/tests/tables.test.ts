import { expect, test } from "vitest";

import { readChoice } from "@/parts/columns";
import { nextSorting } from "@/parts/DataTable";
import { between } from "@/parts/selection";

const column = (sort: string, isNumber = false) => ({
  id: sort,
  label: sort,
  width: 1,
  sort,
  isNumber,
  cell: () => "",
});

test("a range reaches from one row to the other in either direction", () => {
  expect(between(["a", "b", "c", "d"], "d", "b")).toEqual(["b", "c", "d"]);
  expect(between(["a", "b", "c"], "a", "b")).toEqual(["a", "b"]);
});

test("a range from a row that is no longer listed is the row itself", () => {
  expect(between(["a", "b"], "gone", "b")).toEqual(["b"]);
});

test("texts are sorted from the first, amounts from the largest, and a second press turns the order", () => {
  expect(nextSorting(column("name"), undefined)).toEqual({ by: "name", isDescending: false });
  expect(nextSorting(column("gpus", true), undefined)).toEqual({ by: "gpus", isDescending: true });
  expect(nextSorting(column("gpus", true), { by: "gpus", isDescending: true }).isDescending).toBe(false);
});

test("a choice of columns that cannot be read counts as none", () => {
  expect(readChoice("not json", ["a"])).toEqual(["a"]);
  expect(readChoice('["b"]', ["a"])).toEqual(["b"]);
});
