/** Starts a process: which source, which graph, and the params that its schema names. */
import { useState } from "preact/hooks";
import type { GraphSummary, Source } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { readChoice } from "../../parts/choice.ts";
import { type ParamSchema, readParams, SchemaField } from "../../parts/schema-form.ts";
import { Empty, Failed, Shown } from "../../parts/states.ts";
import { useSubmit } from "../../parts/submit.ts";
import { addressOf, place } from "../../router.ts";
import { windhover } from "../../session.ts";

interface Choices {
  readonly sources: readonly Source[];
  readonly graphs: readonly GraphSummary[];
}

const paramsOf = (graph: GraphSummary | undefined): Readonly<Record<string, ParamSchema>> => {
  const { properties = {} } = (graph?.params ?? {}) as { properties?: Readonly<Record<string, ParamSchema>> };
  return Object.fromEntries(Object.entries(properties).filter(([name]) => !graph?.reserved_params.includes(name)));
};

export function NewProcess() {
  const { asked, reload } = useAsked(async (signal): Promise<Choices> => {
    const [{ sources }, { graphs }] = await Promise.all([
      windhover.listSources({}, { signal }),
      windhover.listGraphs({}, { signal }),
    ]);
    return { sources, graphs: graphs.filter((graph) => graph.can_start) };
  }, []);
  return html`
    <div class="middle"><h1>Start a process</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${(choices: Choices) =>
        choices.sources.length === 0
          ? html`<${Empty} title="There is nothing to run on"><p><a href=${addressOf("sources")}>Add a source</a> first.</p></${Empty}>`
          : html`<${Form} ...${choices} />`}
    </${Shown}></div>
  `;
}

function Form({ sources, graphs }: Choices) {
  const [name, setName] = useState(
    graphs.some((graph) => graph.name === "detect") ? "detect" : (graphs[0]?.name ?? ""),
  );
  const graph = graphs.find((one) => one.name === name);
  const schemas = paramsOf(graph);
  const { error, isBusy, submit } = useSubmit(async (form, goOn) => {
    const source_uuid = String(form.get("source"));
    const params = readParams(form, schemas);
    const started = await windhover.startProcess({ source_uuid, graph: name, body: { params } });
    goOn(addressOf("processes", started.process_uuid));
  });
  return html`
    <form class="card narrow" onSubmit=${submit}>
      <label>Source
        <select name="source">
          ${sources.map((source) => html`<option value=${source.uuid} selected=${source.uuid === place.value.query.get("source")}>${source.alias}</option>`)}
        </select>
      </label>
      <label>Graph
        <select value=${name} onChange=${(event: Event) => setName(readChoice(event))}>
          ${graphs.map((one) => html`<option value=${one.name}>${one.name}</option>`)}
        </select>
      </label>
      <p class="hint">${graph?.about}</p>
      ${
        Object.keys(schemas).length > 0 &&
        html`<details><summary>Params</summary><div class="fields">
          ${Object.entries(schemas).map(([param, schema]) => html`<${SchemaField} key=${`${name}:${param}`} name=${param} schema=${schema} />`)}
        </div></details>`
      }
      ${error !== null && html`<${Failed} error=${error} />`}
      <div class="row"><button class="primary" disabled=${isBusy}>${isBusy ? "Starting…" : "Start"}</button></div>
    </form>
  `;
}
