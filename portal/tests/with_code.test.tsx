import { MantineProvider } from "@mantine/core";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { WithCode } from "@/parts/WithCode";

const shown = (text: string) =>
  renderToStaticMarkup(
    <MantineProvider>
      <WithCode text={text} />
    </MantineProvider>,
  );

test("what stands between backticks is code, and nothing is HTML", () => {
  expect(shown("see `muster get <b>`, then go on")).toMatch(/see <code[^>]*>muster get &lt;b&gt;<\/code>, then go on$/);
});

test("a backtick alone stays as it is", () => {
  expect(shown("a ` b")).toMatch(/a ` b$/);
});
