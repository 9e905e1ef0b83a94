import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { hiddenIn, visible } from "@/visible/visible";

const TURNED = "safe\u202etxt.exe";

test("characters that turn a text around or hide in it are shown as marks", () => {
  expect(visible(TURNED)).toBe("safe‹U+202E›txt.exe");
  expect(visible("a\u2066b\u2069c\u200b\u0007")).toBe("a‹U+2066›b‹U+2069›c‹U+200B›‹U+0007›");
});

test("a text that is edited can be asked for them", () => {
  expect(hiddenIn("a\u202eb\u200b\u202e")).toEqual(["‹U+202E›", "‹U+200B›"]);
  expect(hiddenIn("plain\n")).toEqual([]);
});

test("ordinary texts of all languages stay as they are", () => {
  for (const text of ["plain", "多行\n文字\t", "שלום", "family 👨‍👩‍👧"]) expect(visible(text)).toBe(text);
});

test("every element shows them, whether its text stands alone, among others or in a title", () => {
  const names = [TURNED];
  const page = (
    <p title={TURNED}>
      {TURNED} = <b>{names}</b>
    </p>
  );
  const markup = renderToStaticMarkup(page);
  expect(markup).not.toContain("\u202e");
  expect(markup.match(/‹U\+202E›/gu)).toHaveLength(3);
});
