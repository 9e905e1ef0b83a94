import { EditorView } from "@codemirror/view";

/**
 * Text that is typed over a selection. Left to itself, the browser keeps the colours of what it replaces in an inline
 * style, which the content security policy refuses.
 */
export const typingOverSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const text = event.data;
    if (event.inputType !== "insertText" || !text || event.isComposing || view.state.readOnly) return false;
    const [from, to] = replacedBy(event, view);
    if (from === to) return false;
    const insert = () =>
      view.state.update({
        changes: { from, to, insert: text },
        selection: { anchor: from + text.length },
        userEvent: "input.type",
        scrollIntoView: true,
      });
    const isTaken = view.state.facet(EditorView.inputHandler).some((handler) => handler(view, from, to, text, insert));
    if (!isTaken) view.dispatch(insert());
    event.preventDefault();
    return true;
  },
});

/** What the text replaces. The editor's own selection may lag behind that of the page. */
function replacedBy(event: InputEvent, view: EditorView): [number, number] {
  const { from, to } = view.state.selection.main;
  if (from !== to) return [from, to];
  const range = [...event.getTargetRanges(), ...selectedRanges(view)].find((each) => isInside(each, view));
  if (!range) return [from, to];
  return [view.posAtDOM(range.startContainer, range.startOffset), view.posAtDOM(range.endContainer, range.endOffset)];
}

/** What is selected on the page, for events that do not say what they replace. */
function selectedRanges(view: EditorView): AbstractRange[] {
  const root: { getSelection?: () => Selection | null } = view.root as Document; // not every browser's shadow roots have it
  const selection = root.getSelection?.();
  return selection?.rangeCount ? [selection.getRangeAt(0)] : [];
}

function isInside(range: AbstractRange, view: EditorView): boolean {
  return view.contentDOM.contains(range.startContainer) && view.contentDOM.contains(range.endContainer);
}
