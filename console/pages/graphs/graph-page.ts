/** One graph: its pipeline as a picture, with the load of each step while a process of it runs, and its text. */
import { useState } from "preact/hooks";
import type { Graph, Process } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { readChoice } from "../../parts/choice.ts";
import { useSourceNames } from "../../parts/source-names.ts";
import { Shown } from "../../parts/states.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { PipelinePicture } from "./pipeline-picture.ts";
import { RunningPipeline } from "./running-pipeline.ts";

const PROCESSES_MS = 4_000;

export function GraphPage({ name }: { name: string }) {
  const { asked, reload } = useAsked((signal) => windhover.getGraph({ name }, { signal }), [name]);
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("graphs")}>Graphs</a></nav>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${(graph: Graph) => html`
        <div class="row spread"><h1>${graph.name}</h1><a class="button" href=${addressOf("graphs", name, "edit")}>Edit a copy</a></div>
        <p>${graph.about}</p>
        <${Pipelines} graph=${graph} />
        <details><summary>Text</summary><pre class="card scroll" tabindex="0">${graph.yaml}</pre></details>
        ${graph.pipeline !== null && html`<details><summary>As a gst-launch line</summary><pre class="card wrap" tabindex="0">${graph.pipeline.launch}</pre></details>`}
      `}
    </${Shown}>
  `;
}

/** As compiled, or as one of its processes runs. */
function Pipelines({ graph }: { graph: Graph }) {
  const { asked } = useAsked((signal) => windhover.listProcesses({}, { signal }), [graph.name], PROCESSES_MS);
  const [chosen, setChosen] = useState("");
  const nameOf = useSourceNames();
  const running = "value" in asked ? (asked.value?.processes ?? []).filter((one) => one.graph === graph.name) : [];
  const uuid = running.some((one) => one.uuid === chosen) ? chosen : (running[0]?.uuid ?? "");
  return html`
    ${
      running.length > 0 &&
      html`<label class="narrow load">Load while it runs on
        <select value=${uuid} onChange=${(event: Event) => setChosen(readChoice(event))}>
          ${running.map((one: Process) => html`<option value=${one.uuid}>${nameOf(one)} (${one.state})</option>`)}
        </select>
      </label>`
    }
    ${uuid !== "" ? html`<${RunningPipeline} key=${uuid} uuid=${uuid} />` : graph.pipeline !== null && html`<${PipelinePicture} segments=${graph.pipeline.segments} />`}
  `;
}
