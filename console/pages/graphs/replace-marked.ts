/**
 * What is typed over marked text is put in its place by the editor and not by the browser: Chromium would write the style
 * of the marked text into an attribute, which the security policy forbids.
 */
import { EditorView } from "@codemirror/view";

export const replaceMarked = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection;
    const { data, inputType, isComposing } = event;
    if (main.empty || inputType !== "insertText" || data === null || isComposing) return false;
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), { scrollIntoView: true, userEvent: "input.type" });
    // Such as brackets, which go around it.
    const isTaken = view.state
      .facet(EditorView.inputHandler)
      .some((take) => take(view, main.from, main.to, data, insert));
    if (!isTaken) view.dispatch(insert());
    return true;
  },
});
