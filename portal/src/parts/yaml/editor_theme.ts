import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** The colours are the tokens of the page, which reach into the shadow root. */
export const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--code-key)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--code-text)" },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: "var(--code-value)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--ink-soft)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.meta, tags.labelName], color: "var(--code-mark)" },
]);

export const editorTheme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--surface)", height: "100%" },
  "&.cm-focused": { outline: "2px solid var(--accent)" },
  ".cm-scroller": {
    fontFamily: "var(--mantine-font-family-monospace)",
    fontSize: "13px",
    lineHeight: "1.5",
    overflow: "auto",
    minHeight: "var(--editor-height)",
    maxHeight: "var(--editor-most)",
  },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-cursor": { borderLeftColor: "var(--ink)" },
  ".cm-gutters": { backgroundColor: "var(--page)", color: "var(--ink-soft)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "transparent" },
  ".cm-activeLineGutter": { backgroundColor: "var(--accent-soft)", color: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "var(--accent-soft)",
  },
  ".cm-selectionMatch": { backgroundColor: "var(--mark)" },
  ".cm-specialChar": { color: "var(--sick)" },
  ".cm-problem": { textDecoration: "underline wavy var(--sick)", textDecorationSkipInk: "none" },
  ".cm-problem-line": { boxShadow: "inset 3px 0 var(--sick)" },
  ".cm-tooltip": { backgroundColor: "var(--surface)", color: "var(--ink)", border: "1px solid var(--line)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "var(--mantine-font-family-monospace)" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--surface)" },
  ".cm-completionInfo": { maxWidth: "340px", fontSize: "12px" },
  ".cm-panels": { backgroundColor: "var(--page)", color: "var(--ink)" },
});
