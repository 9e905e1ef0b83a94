import { RangeSetBuilder, StateEffect, StateField, type Text } from "@codemirror/state";
import { Decoration, EditorView, type DecorationSet } from "@codemirror/view";

/** A problem that the server found, with its line in the file. */
export interface LineProblem {
  line: number;
  message: string;
}

export const setProblems = StateEffect.define<readonly LineProblem[]>();

/** Underlines the lines with problems. (The editor's own marks are pictures in `data:`, which the policy refuses.) */
export const problemMarks = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(marks, transaction) {
    let now = marks.map(transaction.changes);
    for (const effect of transaction.effects) {
      if (effect.is(setProblems)) now = drawn(transaction.state.doc, effect.value);
    }
    return now;
  },
  provide: (field) => EditorView.decorations.from(field),
});

function drawn(document: Text, problems: readonly LineProblem[]): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  const lines = [...new Set(problems.map((problem) => problem.line))].sort((one, other) => one - other);
  for (const number of lines) {
    if (number < 1 || number > document.lines) continue;
    const line = document.line(number);
    const message = problems.filter((each) => each.line === number).map((each) => each.message);
    builder.add(line.from, line.from, Decoration.line({ class: "cm-problem-line" }));
    const start = line.from + line.text.search(/\S|$/);
    if (start < line.to) {
      builder.add(start, line.to, Decoration.mark({ class: "cm-problem", attributes: { title: message.join("\n") } }));
    }
  }
  return builder.finish();
}
