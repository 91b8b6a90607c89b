/** The list of processes, and the form that starts one. */
import { useState } from "preact/hooks";
import type { GraphSummary, Process, Source } from "../../../client/client.ts";
import { DemoButton } from "../../components/demo-button.ts";
import { readFields, Select, useSubmit } from "../../components/form.ts";
import { formatTime } from "../../components/format.ts";
import { More, useList, useQuery, useSourceNames, whenLoaded } from "../../components/query.ts";
import { Empty, Failed } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { html } from "../../html.ts";
import { linkTo, route } from "../../router.ts";
import { windhover } from "../../session.ts";
import { ParamFields, paramsOf } from "./params.ts";
import { ProcessPage } from "./process.ts";
import { StateMark } from "./state-mark.ts";

const POLL_MS = 2_000;

/** `/processes`, `/processes/new` or `/processes/<uuid>`. */
export function Processes() {
  const [, uuid] = route.value.segments;
  if (uuid === "new") return html`<${NewProcess} />`;
  return uuid === undefined ? html`<${ProcessList} />` : html`<${ProcessPage} key=${uuid} uuid=${uuid} />`;
}

function ProcessList() {
  const [state, setState] = useState<"active" | "all">("active");
  const { query, showMore } = useList(
    (page, signal) => windhover.listProcesses({ state, ...page }, { signal }),
    [state],
    POLL_MS,
  );
  const nameOf = useSourceNames();
  const columns: readonly Column<Process>[] = [
    ["Source", (process) => html`<a href=${linkTo("processes", process.uuid)}>${nameOf(process)}</a>`],
    ["Graph", ({ graph }) => graph],
    ["State", (process) => html`<${StateMark} process=${process} />`],
    ["Started", ({ started_at }) => formatTime(started_at)],
    ["Frame rate", ({ finished_at, stats }) => (finished_at === null ? `${stats.fps_processed.toFixed(1)} fps` : "—")],
  ];
  return html`
    <div class="row spread"><h1>Processes</h1>
      <div class="row">
        <label class="check"><input type="checkbox" checked=${state === "all"} onChange=${() => setState(state === "all" ? "active" : "all")} /> Show ended</label>
        <a class="button primary" href=${linkTo("processes", "new")}>Start a process</a>
      </div>
    </div>
    ${whenLoaded(query, ({ processes, next_cursor: next }) =>
      processes.length === 0
        ? html`<${Empty} title=${state === "all" ? "No processes yet" : "No running processes"}><p>Start a process on a <a href=${linkTo("sources")}>source</a>.</p><${DemoButton} /></${Empty}>`
        : html`<${Table} rows=${processes} columns=${columns} /><${More} count=${processes.length} next=${next} onMore=${showMore} />`,
    )}
  `;
}

interface Choices {
  readonly sources: readonly Source[];
  readonly graphs: readonly GraphSummary[];
}

function NewProcess() {
  const query = useQuery(async (signal): Promise<Choices> => {
    const [{ sources }, { graphs }] = await Promise.all([
      windhover.listSources({}, { signal }),
      windhover.listGraphs({}, { signal }),
    ]);
    return { sources, graphs: graphs.filter((graph) => graph.can_start) };
  }, []);
  return html`
    <div class="middle"><h1>Start a process</h1>
    ${whenLoaded(query, (choices) =>
      choices.sources.length === 0
        ? html`<${Empty} title="No sources yet"><p><a href=${linkTo("sources")}>Add a source</a> first.</p></${Empty}>`
        : html`<${NewProcessForm} ...${choices} />`,
    )}</div>
  `;
}

function NewProcessForm({ sources, graphs }: Choices) {
  const [name, setName] = useState(graphs.some((one) => one.name === "detect") ? "detect" : (graphs[0]?.name ?? ""));
  const graph = graphs.find((one) => one.name === name);
  const schemas = paramsOf(graph);
  const { error, isBusy, submit } = useSubmit(async (form, navigate) => {
    const source_uuid = String(form.get("source"));
    const params = readFields(form, schemas);
    const started = await windhover.startProcess({ source_uuid, graph: name, body: { params } });
    navigate(linkTo("processes", started.process_uuid));
  });
  const selected = route.value.query.get("source") ?? undefined;
  return html`
    <form class="card narrow" onSubmit=${submit}>
      <${Select} label="Source" name="source" selected=${selected} options=${sources.map(({ uuid, alias }) => [uuid, alias])} />
      <${Select} label="Graph" value=${name} onChange=${setName} options=${graphs.map((one) => [one.name, one.name])} />
      <p class="hint">${graph?.about}</p>
      <${ParamFields} graph=${name} schemas=${schemas} />
      ${error !== null && html`<${Failed} error=${error} />`}
      <div class="row"><button class="primary" disabled=${isBusy}>${isBusy ? "Starting…" : "Start"}</button></div>
    </form>
  `;
}
