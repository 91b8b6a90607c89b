/** The graphs, and one graph: its pipeline, with the load of each step while a process runs it, its text and its versions. */
import { useState } from "preact/hooks";
import type { Graph, Process } from "../../../client/client.ts";
import { Select } from "../../components/form.ts";
import { useQuery, useSourceNames, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { html } from "../../html.ts";
import { linkTo, route } from "../../router.ts";
import { windhover } from "../../session.ts";
import { GraphEditor } from "./graph-editor.ts";
import { Pipeline, RunningPipeline } from "./pipeline.ts";
import { Versions } from "./versions.ts";

const PROCESSES_MS = 4_000;

/** `/graphs`, `/graphs/<name>` or `/graphs/<name>/edit`. */
export function Graphs() {
  const [, name, action] = route.value.segments;
  if (name === undefined) return html`<${GraphList} />`;
  return action === "edit"
    ? html`<${GraphEditor} key=${name} name=${name} />`
    : html`<${GraphPage} key=${name} name=${name} />`;
}

function GraphList() {
  const query = useQuery((signal) => windhover.listGraphs({}, { signal }), []);
  return html`
    <h1>Graphs</h1>
    ${whenLoaded(query, ({ graphs }) =>
      graphs.length === 0
        ? html`<${Empty} title="No graphs installed" />`
        : html`<div class="grid">${graphs.map(
            (graph) => html`
                <article key=${graph.name} class="card">
                  <h2><a href=${linkTo("graphs", graph.name)}>${graph.name}</a></h2>
                  ${graph.version !== null && html`<p class="hint">Your own, version ${graph.version}</p>`}
                  <p>${graph.about}</p>
                  <p class="hint">Offers ${graph.offers.join(", ") || "nothing"}</p>
                </article>
              `,
          )}</div>`,
    )}
  `;
}

function GraphPage({ name }: { name: string }) {
  const query = useQuery((signal) => windhover.getGraph({ name }, { signal }), [name]);
  return html`
    <nav aria-label="Breadcrumbs" class="crumbs"><a href=${linkTo("graphs")}>Graphs</a></nav>
    ${whenLoaded(
      query,
      (graph) => html`
        <div class="row spread"><h1>${graph.name}</h1><a class="button" href=${linkTo("graphs", name, "edit")}>${graph.origin === "own" ? "Edit" : "Edit a copy"}</a></div>
        <p>${graph.about}</p>
        <${Pipelines} graph=${graph} />
        <details><summary>YAML</summary><pre class="card scroll" tabindex="0">${graph.yaml}</pre></details>
        ${graph.origin === "own" && html`<${Versions} key=${graph.version} name=${name} />`}
        ${graph.pipeline !== null && html`<details><summary>gst-launch command</summary><pre class="card wrap" tabindex="0">${graph.pipeline.launch}</pre></details>`}
      `,
    )}
  `;
}

/** As compiled, or as one of its processes runs it. */
function Pipelines({ graph }: { graph: Graph }) {
  const { value } = useQuery((signal) => windhover.listProcesses({}, { signal }), [graph.name], PROCESSES_MS);
  const [chosen, setChosen] = useState("");
  const nameOf = useSourceNames();
  const running = value?.processes.filter((one: Process) => one.graph === graph.name) ?? [];
  const uuid = running.some((one) => one.uuid === chosen) ? chosen : (running[0]?.uuid ?? "");
  const options = running.map((one) => [one.uuid, `${nameOf(one)} (${one.state})`]);
  return html`
    ${running.length > 0 && html`<${Select} class="narrow load" label="Load on" value=${uuid} onChange=${setChosen} options=${options} />`}
    ${uuid !== "" ? html`<${RunningPipeline} key=${uuid} uuid=${uuid} />` : graph.pipeline !== null && html`<${Pipeline} segments=${graph.pipeline.segments} outputs=${[]} />`}
  `;
}
