/** What is wrong with a graph, in words: one line a fault, which leads to where it is. */
import type { GraphFault } from "../../../client/client.ts";
import { html } from "../../html.ts";

interface VerdictNeeds {
  /** Null: it is being looked at. */
  readonly faults: readonly GraphFault[] | null;
  readonly onShow: (fault: GraphFault) => void;
}

export const Verdict = ({ faults, onShow }: VerdictNeeds) => {
  if (faults === null) return html`<p role="status" class="hint">Checking…</p>`;
  if (faults.length === 0) return html`<p role="status">Nothing is wrong with it.</p>`;
  return html`
    <p role="status">${faults.length === 1 ? "One fault" : `${faults.length} faults`} to mend:</p>
    <ol class="faults">${faults.map(
      (fault) => html`<li>
        ${fault.file === null ? html`<button type="button" class="plain link" onClick=${() => onShow(fault)}>Line ${fault.line}</button>` : html`<strong>${fault.file}, line ${fault.line}</strong>`}
        ${fault.message}${mendingOf(fault)}
      </li>`,
    )}</ol>
  `;
};

function mendingOf({ suggestion, expected }: GraphFault): string {
  if (suggestion !== undefined) return `; did you mean ${suggestion}?`;
  return expected === undefined ? "" : `; expected ${expected}`;
}
