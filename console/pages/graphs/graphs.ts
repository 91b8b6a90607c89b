import type { GraphSummary } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { addressOf, place } from "../../router.ts";
import { windhover } from "../../session.ts";
import { GraphEditor } from "./graph-editor.ts";
import { GraphPage } from "./graph-page.ts";

/** `/graphs`, `/graphs/<name>` or `/graphs/<name>/edit`. */
export function Graphs() {
  const [, name, what] = place.value.parts;
  if (name === undefined) return html`<${GraphList} />`;
  return what === "edit"
    ? html`<${GraphEditor} key=${name} name=${name} />`
    : html`<${GraphPage} key=${name} name=${name} />`;
}

function GraphList() {
  const { asked, reload } = useAsked((signal) => windhover.listGraphs({}, { signal }), []);
  return html`
    <h1>Graphs</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ graphs }: { graphs: readonly GraphSummary[] }) =>
        graphs.length === 0
          ? html`<${Empty} title="No graph is installed" />`
          : html`<div class="grid">${graphs.map(
              (graph) => html`
                <article key=${graph.name} class="card">
                  <h2><a href=${addressOf("graphs", graph.name)}>${graph.name}</a></h2>
                  <p>${graph.about}</p>
                  <p class="hint">Offers ${graph.offers.join(", ") || "nothing"}</p>
                </article>
              `,
            )}</div>`}
    </${Shown}>
  `;
}
