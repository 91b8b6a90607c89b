/** The text editor, which is large and loads only when needed. In a shadow root: its styles need no exception to the security policy. */
import { yaml, yamlLanguage } from "@codemirror/lang-yaml";
import { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, setDiagnostics } from "@codemirror/lint";
import { EditorState } from "@codemirror/state";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { basicSetup } from "codemirror";
import { complete, type KnownNames } from "./complete.ts";

/** At a line of the text. */
export interface Mark {
  readonly line: number;
  readonly column: number;
  readonly message: string;
}

export interface Editor {
  /** Marks errors at their lines, instead of those before. */
  mark(errors: readonly Mark[]): void;
  /** Moves the cursor. */
  show(line: number, column: number): void;
  /** Replaces the whole text; the user can undo it. */
  write(text: string): void;
  close(): void;
}

const THEME = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--card)", fontSize: "0.9rem", height: "60vh" },
  ".cm-content": { caretColor: "var(--text)", fontFamily: "ui-monospace, monospace" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--back)", color: "var(--soft)", border: "0" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "color-mix(in srgb, var(--accent) 10%, transparent)" },
  "&.cm-focused .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent) !important",
  },
  ".cm-tooltip": { backgroundColor: "var(--card)", color: "var(--text)", border: "1px solid var(--line)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)",
    color: "var(--text)",
  },
  ".cm-completionInfo": { maxWidth: "24rem", padding: "0.25rem 0.5rem" },
});

/** In the colours of the page, which are readable in both themes. */
const HIGHLIGHTS = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: "var(--accent)" },
  { tag: [tags.string, tags.special(tags.string)], color: "var(--good)" },
  { tag: [tags.comment, tags.lineComment], color: "var(--soft)", fontStyle: "italic" },
  { tag: [tags.keyword, tags.labelName, tags.typeName, tags.meta], color: "var(--warn)" },
]);

/**
 * Typing over a selection is done by the editor instead of the browser: Chromium would copy the style of the selected text
 * into an attribute, which the security policy forbids.
 */
const replaceSelection = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { main } = view.state.selection;
    const { data, inputType, isComposing } = event;
    if (main.empty || inputType !== "insertText" || data === null || isComposing) return false;
    const insert = () =>
      view.state.update(view.state.replaceSelection(data), { scrollIntoView: true, userEvent: "input.type" });
    // Such as brackets, which enclose the selection.
    const isHandled = view.state
      .facet(EditorView.inputHandler)
      .some((handle) => handle(view, main.from, main.to, data, insert));
    if (!isHandled) view.dispatch(insert());
    return true;
  },
});

interface CompletionPlace {
  readonly state: EditorState;
  readonly pos: number;
  /** On request, not while typing. */
  readonly explicit: boolean;
}

interface EditorOptions {
  readonly text: string;
  /** Names to complete while typing. */
  readonly known: KnownNames;
  onChange(text: string): void;
}

export function openEditor(parent: HTMLElement, { text, known, onChange }: EditorOptions): Editor {
  const root = parent.shadowRoot ?? parent.attachShadow({ mode: "open" });
  const view = new EditorView({
    parent: root,
    root,
    state: EditorState.create({
      doc: text,
      extensions: [
        basicSetup,
        yaml(),
        yamlLanguage.data.of({
          autocomplete: async ({ state, pos, explicit }: CompletionPlace) => {
            const text = state.doc.toString();
            const found = await complete(text, pos, known);
            // Where nothing is written yet, a list would cover what is below: it opens with Ctrl-Space.
            const isBegun = found !== null && (found.from < pos || "${".includes(text.charAt(pos - 1)));
            return explicit || isBegun ? found : null;
          },
        }),
        lintGutter(),
        replaceSelection,
        syntaxHighlighting(HIGHLIGHTS),
        THEME,
        EditorView.contentAttributes.of({ "aria-label": "Graph text", tabindex: "0" }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) onChange(update.state.doc.toString());
        }),
      ],
    }),
  });
  const toDiagnostic = ({ line, column, message }: Mark): Diagnostic => {
    const from = positionOf(view, line, column);
    return { from, to: Math.max(from, view.state.doc.lineAt(from).to), severity: "error", message };
  };
  return {
    mark: (errors) => view.dispatch(setDiagnostics(view.state, errors.map(toDiagnostic))),
    show: (line, column) => {
      view.dispatch({ selection: { anchor: positionOf(view, line, column) }, scrollIntoView: true });
      view.focus();
    },
    write: (next) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next } }),
    close: () => view.destroy(),
  };
}

/** Within the text, which may have changed since it was validated. */
function positionOf(view: EditorView, line: number, column: number): number {
  const { doc } = view.state;
  const found = doc.line(Math.min(Math.max(line, 1), doc.lines));
  return Math.min(found.from + Math.max(column, 1) - 1, found.to);
}
