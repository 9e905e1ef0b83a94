import { expect, it } from "vitest";

import { edgesOf } from "@/parts/edges";

it("a table that is wider than its place has more at the edges to which it can be scrolled", () => {
  const at = (scrollLeft: number) => edgesOf({ scrollLeft, scrollWidth: 560, clientWidth: 340 });
  expect([at(0), at(100), at(220)]).toEqual(["right", "left right", "left"]);
  expect(edgesOf({ scrollLeft: 0, scrollWidth: 341, clientWidth: 340 })).toBe("");
});
