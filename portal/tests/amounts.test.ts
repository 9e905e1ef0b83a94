import { expect, test } from "vitest";

import { coresText } from "@/parts/amounts";

test("cores are told as numbers, also where the API tells thousandths", () => {
  expect(["212250m", "250m", "64", "0"].map(coresText)).toEqual(["212.25", "0.25", "64", "0"]);
});
