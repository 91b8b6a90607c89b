/** The text editor, which is large and comes only when it is needed. In a shadow root: its styles need no exception of the security policy. */
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import type { GraphFault } from "../../../client/client.ts";
import { replaceMarked } from "./replace-marked.ts";

export interface Editor {
  /** At their lines. */
  mark(faults: readonly GraphFault[]): void;
  /** Puts the cursor there. */
  show(line: number, column: number): void;
  /** In place of all that is there; it can be undone. */
  write(text: string): void;
  close(): void;
}

const LOOK = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--card)", fontSize: "0.9rem", height: "60vh" },
  ".cm-content": { caretColor: "var(--text)", fontFamily: "ui-monospace, monospace" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--back)", color: "var(--soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 10%, transparent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent) !important",
  },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--line)" },
});

/** By the colours of the page, which are readable in light and in dark. */
const WORDS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.labelName, tags.typeName, tags.meta], color: "var(--warn)" },
]);

export function openEditor(place: HTMLElement, text: string, onChange: (text: string) => void): Editor {
  const root = place.shadowRoot ?? place.attachShadow({ mode: "open" });
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        basicSetup,
        yaml(),
        lintGutter(),
        replaceMarked,
        syntaxHighlighting(WORDS),
        LOOK,
        EditorView.contentAttributes.of({ "aria-label": "Text of the graph", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  return {
    mark: (faults) =>
      view.dispatch(
        setDiagnostics(
          view.state,
          faults.map((fault) => toDiagnostic(view, fault)),
        ),
      ),
    show: (line, column) => {
      const at = placeOf(view, line, column);
      view.dispatch({ selection: { anchor: at }, scrollIntoView: true });
      view.focus();
    },
    write: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    close: () => view.destroy(),
  };
}

/** Within the text, whatever was typed since it was checked. */
function placeOf(view: EditorView, line: number, column: number): number {
  const { doc } = view.state;
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(found.from + Math.max(column, 1) - 1, found.to);
}

function toDiagnostic(view: EditorView, { line, column, message }: GraphFault): Diagnostic {
  const from = placeOf(view, line, column);
  return { from, to: Math.max(from, view.state.doc.lineAt(from).to), severity: "error", message };
}
