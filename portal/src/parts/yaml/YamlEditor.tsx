import { autocompletion, closeBrackets, completionKeymap, type CompletionContext } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, EditorState } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { useEffect, useRef } from "react";

import { completionAt, type Schema } from "./completion";
import { colours, editorTheme } from "./editor_theme";
import { problemMarks, setProblems, type LineProblem } from "./problem_marks";
import { typingOverSelection } from "./typing";
import { HIDDEN_CHARACTERS, marked } from "@/visible/visible";

export interface YamlEditorProps {
  label: string;
  text: string;
  onChange?: (text: string) => void;
  problems?: readonly LineProblem[];
  schema?: Schema | undefined;
  /** Values by key that only the server knows. */
  known?: Readonly<Record<string, readonly string[]>>;
  /** The line to go to; another object goes there again. */
  goTo?: { line: number } | null;
  isReadOnly?: boolean;
}

const FROM_OUTSIDE = Annotation.define<boolean>();

/**
 * A text editor for YAML. It lives in a shadow root: only there the styles that the editor makes for itself are
 * constructed sheets, which the content security policy allows.
 */
export default function YamlEditor(props: YamlEditorProps) {
  const { text, label, problems, goTo, isReadOnly } = props;
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const current = useRef(props);
  useEffect(() => {
    current.current = props;
  });

  useEffect(() => {
    const outer = host.current;
    if (!outer) return;
    const root = outer.shadowRoot ?? outer.attachShadow({ mode: "open" });
    const made = new EditorView({
      root,
      parent: root,
      state: EditorState.create({
        doc: current.current.text,
        extensions: [
          lineNumbers(),
          highlightSpecialChars({ specialChars: HIDDEN_CHARACTERS, render: hiddenCharacter }),
          typingOverSelection,
          history(),
          drawSelection(),
          highlightActiveLine(),
          highlightSelectionMatches(),
          bracketMatching(),
          closeBrackets(),
          yaml(),
          syntaxHighlighting(colours),
          editorTheme,
          problemMarks,
          autocompletion({ override: [(context) => complete(context, current.current)], icons: false }),
          keymap.of([...defaultKeymap, ...historyKeymap, ...searchKeymap, ...completionKeymap]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ "aria-label": label }),
          EditorState.readOnly.of(isReadOnly ?? false),
          EditorView.updateListener.of((update) => {
            const isOutside = update.transactions.some((each) => each.annotation(FROM_OUTSIDE));
            if (update.docChanged && !isOutside) current.current.onChange?.(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = made;
    return () => made.destroy();
  }, [label, isReadOnly]);

  useEffect(() => {
    const made = view.current;
    const change = made && changeBetween(made.state.doc.toString(), text);
    if (change) made.dispatch({ changes: change, annotations: FROM_OUTSIDE.of(true) });
  }, [text]);

  useEffect(() => view.current?.dispatch({ effects: setProblems.of(problems ?? []) }), [problems, text]);

  useEffect(() => {
    const made = view.current;
    if (!made || !goTo || goTo.line > made.state.doc.lines) return;
    const line = made.state.doc.line(goTo.line);
    made.dispatch({ selection: { anchor: line.from }, effects: EditorView.scrollIntoView(line.from, { y: "center" }) });
    made.focus();
  }, [goTo]);

  return <div ref={host} data-testid="yaml" />;
}

function hiddenCharacter(code: number): HTMLElement {
  const mark = document.createElement("span");
  mark.className = "cm-specialChar";
  mark.textContent = marked(code);
  return mark;
}

function complete(context: CompletionContext, { schema, known }: YamlEditorProps) {
  if (!schema) return null;
  const found = completionAt(schema, context.state.doc.toString(), context.pos, known);
  if (!found || (found.from === context.pos && !context.explicit)) return null;
  return {
    from: found.from,
    options: found.offers.map(({ label, insert, info }) => ({ label, apply: insert, ...(info ? { info } : {}) })),
    validFor: /^[\w.-]*$/,
  };
}

/** The smallest change from one text to the other, so that the cursor and the place on the screen stay. */
export function changeBetween(from: string, to: string): { from: number; to: number; insert: string } | null {
  if (from === to) return null;
  let start = 0;
  const most = Math.min(from.length, to.length);
  while (start < most && from[start] === to[start]) start += 1;
  let end = 0;
  while (end < most - start && from[from.length - 1 - end] === to[to.length - 1 - end]) end += 1;
  return { from: start, to: from.length - end, insert: to.slice(start, to.length - end) };
}
