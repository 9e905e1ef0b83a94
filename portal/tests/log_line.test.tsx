import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";

import { Spans } from "@/pages/job/logs/LogLineView";

it("hidden characters of a line are marks, whether it has colours or not", () => {
  const markup = renderToStaticMarkup(<Spans text={"a\u202eb\u202c\u2066\u2069\u200bc"} searched="" />);
  expect(markup).toBe("a‹U+202E›b‹U+202C›‹U+2066›‹U+2069›‹U+200B›c");
  expect(renderToStaticMarkup(<Spans text={"\x1b[31ma\u202eb"} searched="" />)).toContain(">a‹U+202E›b<");
});

it("matches are marked where they are, before, behind and over hidden characters", () => {
  const line = "one\u202e two\u200b three";
  const markup = (searched: string) => renderToStaticMarkup(<Spans text={line} searched={searched} />);
  expect(markup("two")).toBe("one‹U+202E› <mark>two</mark>‹U+200B› three");
  expect(markup("one\u202e t")).toBe("<mark>one‹U+202E› t</mark>wo‹U+200B› three");
  expect(markup("U+202E")).not.toContain("<mark>");
});
