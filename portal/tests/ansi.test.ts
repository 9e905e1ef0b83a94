import { describe, expect, it } from "vitest";

import { marked, spansOf } from "@/pages/job/logs/ansi";
import { foldReturns, plainText, withoutControls } from "@/pages/job/logs/folding";

describe("carriage returns", () => {
  it("show the last frame of a progress bar", () => {
    expect(foldReturns("10%\r50%\r100%")).toBe("100%");
    expect(foldReturns("10%\r50%\r")).toBe("50%");
    expect(foldReturns("plain\r")).toBe("plain");
    expect(foldReturns("\r\r\r")).toBe("");
  });

  it("keep the colour that was set before them", () => {
    expect(spansOf("\x1b[32m10%\r100%")).toEqual([{ text: "100%", colour: "green" }]);
  });
});

describe("colours", () => {
  it("become names", () => {
    expect(spansOf("a \x1b[31;1mred\x1b[0m b")).toEqual([
      { text: "a " },
      { text: "red", colour: "red", isBold: true },
      { text: " b" },
    ]);
  });

  it("of 256 and of 16 million become the nearest of 16", () => {
    expect(spansOf("\x1b[38;5;196mx")[0]?.colour).toBe("red");
    expect(spansOf("\x1b[38;2;250;250;250mx")[0]?.colour).toBe("bright-white");
    expect(spansOf("\x1b[38;5;240mx")[0]?.colour).toBe("bright-black");
  });

  it("change places when reversed", () => {
    expect(spansOf("\x1b[7;31mx")).toEqual([{ text: "x", colour: "black", ground: "red" }]);
  });
});

describe("hostile lines", () => {
  it("stay text", () => {
    const line = "<img src=x onerror=alert(1)> &amp; \x1b[31m<b>";
    expect(
      spansOf(line)
        .map((span) => span.text)
        .join(""),
    ).toBe("<img src=x onerror=alert(1)> &amp; <b>");
  });

  it("cannot move or hide what is shown", () => {
    expect(withoutControls("a\x1b[2J\x1b[10;10Hb")).toBe("ab");
    expect(withoutControls("a\x1b]0;title\x07b")).toBe("ab");
    expect(withoutControls("a\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\")).toBe("alink");
    expect(withoutControls("xabc\x00\x07y")).toBe("xabcy");
    expect(withoutControls("x\u202eabc\u2066\u200b")).toBe("x\u202eabc\u2066\u200b");
    expect(withoutControls("ab\b\bcd")).toBe("cd");
    expect(withoutControls("\x1b")).toBe("");
    expect(withoutControls("\x1b[")).not.toContain("\x1b");
  });

  it("do not take long", () => {
    const began = performance.now();
    spansOf("\x1b[".repeat(30_000));
    spansOf("\x1b]".repeat(30_000));
    spansOf("\x1b[31m\x1b[0m".repeat(6_000));
    spansOf("a\b".repeat(30_000));
    spansOf("\r".repeat(60_000));
    expect(performance.now() - began).toBeLessThan(5_000);
  });

  it("cannot choose a class of their own", () => {
    for (const span of spansOf("\x1b[38;5;999999mx\x1b[999mz\x1b[38;2;300;-1;;my")) {
      expect(span.colour ?? "red").toMatch(/^(bright-)?(black|red|green|yellow|blue|magenta|cyan|white)$/);
    }
  });
});

describe("matches", () => {
  it("are marked across colours", () => {
    const spans = marked(spansOf("an \x1b[31mer\x1b[0mror here"), "ERROR");
    expect(spans.filter((span) => span.isMatch).map((span) => span.text)).toEqual(["er", "ror"]);
    expect(spans.map((span) => span.text).join("")).toBe("an error here");
  });

  it("leave lines without the text as they are", () => {
    const spans = spansOf("nothing");
    expect(marked(spans, "error")).toBe(spans);
    expect(marked(spans, "")).toBe(spans);
  });
});

it("a line to copy is bare", () => {
  expect(plainText("\x1b[32m1%\r\x1b[1m99%\x1b[0m")).toBe("99%");
});
