/** A variant of the graph beside a running process: a form that starts one, and how far its results agree. */
import { useState } from "preact/hooks";
import type { GraphSummary, Process, Shadow } from "../../../client/client.ts";
import { readFields, Select, useSubmit } from "../../components/form.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { Failed } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { attempt } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { toApiError } from "../../poller.ts";
import { windhover } from "../../session.ts";
import { ParamFields, paramsOf } from "./params.ts";

const POLL_MS = 2_000;
const SECONDS = [
  ["60", "1 minute"],
  ["600", "10 minutes"],
  ["3600", "1 hour"],
] as const;
/** The graph as the process runs it, with other values of its parameters. */
const SAME = "";

export function ShadowDetails({ process }: { process: Process }) {
  const [isOpen, setOpen] = useState(false);
  return html`
    <details onToggle=${(event: Event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}>
      <summary>Compare a variant</summary>${isOpen && html`<${ShadowPanel} process=${process} />`}
    </details>
  `;
}

function ShadowPanel({ process }: { process: Process }) {
  const { uuid: process_uuid } = process;
  const query = useQuery(
    async (signal) => ({ shadow: await findShadow(process_uuid, signal) }),
    [process_uuid],
    POLL_MS,
  );
  return html`
    <section class="card stack" aria-label="Shadow">
      <p class="hint">A shadow runs another graph, or other parameters, on the same source. It has no outputs and changes nothing of this process: its results are only compared.</p>
      ${whenLoaded(
        query,
        ({ shadow }) => html`
          ${shadow !== null && html`<${Result} shadow=${shadow} onChange=${query.reload} />`}
          ${!isRunning(shadow) && html`<${StartShadow} process=${process} onChange=${query.reload} />`}
        `,
      )}
    </section>
  `;
}

/** Null: the process has had none. */
async function findShadow(process_uuid: string, signal: AbortSignal): Promise<Shadow | null> {
  try {
    return await windhover.getShadow({ process_uuid }, { signal });
  } catch (error) {
    if (toApiError(error).code === "shadow_not_found") return null;
    throw error;
  }
}

const isRunning = (shadow: Shadow | null): boolean => shadow?.state === "starting" || shadow?.state === "running";

function StartShadow({ process, onChange }: { process: Process; onChange: () => void }) {
  const query = useQuery(async (signal) => (await windhover.listGraphs({}, { signal })).graphs, []);
  return whenLoaded(query, (graphs) => html`<${StartForm} process=${process} graphs=${graphs} onChange=${onChange} />`);
}

interface StartProps {
  readonly process: Process;
  readonly graphs: readonly GraphSummary[];
  onChange(): void;
}

function StartForm({ process, graphs, onChange }: StartProps) {
  const [name, setName] = useState(SAME);
  const schemas = paramsOf(graphs.find((one) => one.name === (name === SAME ? process.graph : name)));
  // Only what differs from the process is sent.
  const fields =
    name !== SAME
      ? schemas
      : Object.fromEntries(
          Object.entries(schemas).map(([param, schema]) => [param, { ...schema, default: process.params[param] }]),
        );
  const { error, isBusy, submit } = useSubmit(async (form) => {
    const params = readFields(form, fields);
    const seconds = Number(form.get("seconds"));
    const body = { seconds, params, ...(name !== SAME && { graph: name }) };
    await windhover.startShadow({ process_uuid: process.uuid, body });
    onChange();
  });
  const names = graphs.filter((one) => one.can_start).map((one) => [one.name, one.name] as const);
  return html`
    <form class="stack" onSubmit=${submit}>
      <${Select} label="Graph of the shadow" value=${name} onChange=${setName} options=${[[SAME, `${process.graph}, as it runs`], ...names]} />
      <${ParamFields} graph=${name} schemas=${fields} />
      <${Select} label="For" name="seconds" options=${SECONDS} />
      ${error !== null && html`<${Failed} error=${error} />`}
      <div class="row"><button disabled=${isBusy}>${isBusy ? "Starting…" : "Start the shadow"}</button></div>
    </form>
  `;
}

type ClassResult = Shadow["comparison"]["classes"][number];

const COLUMNS: readonly Column<ClassResult>[] = [
  ["Class", ({ name }) => name],
  ["Boxes of the process", ({ boxes }) => boxes.live],
  ["of the shadow", ({ boxes }) => boxes.shadow],
  ["in both", ({ boxes }) => boxes.matched],
  ["Tracks of the process", ({ tracks }) => tracks.live],
  ["of the shadow", ({ tracks }) => tracks.shadow],
];

const formatShare = (share: number | null): string => (share === null ? "—" : `${(share * 100).toFixed(1)} %`);

function Result({ shadow, onChange }: { shadow: Shadow; onChange: () => void }) {
  const { graph, version, state, error, comparison } = shadow;
  const { frames, speed, agreement, recall, precision, classes } = comparison;
  const end = async (): Promise<void> => {
    await attempt(() => windhover.stopShadow({ process_uuid: shadow.process_uuid }), "Shadow ended");
    onChange();
  };
  return html`
    <div class="row spread">
      <strong>${graph}${version !== null && `@${version}`}</strong>
      <span class="state ${state}">${state}</span>
    </div>
    ${error !== null && html`<p class="failed" role="alert">${error}</p>`}
    <dl class="facts">
      <dt>Agreement</dt><dd>${formatShare(agreement)} of the boxes, in ${frames.compared} frames</dd>
      <dt>Recall</dt><dd>${formatShare(recall)} of the boxes of the process are in the shadow</dd>
      <dt>Precision</dt><dd>${formatShare(precision)} of the boxes of the shadow are in the process</dd>
      <dt>Speed</dt><dd>${speed === null ? "—" : `${speed.toFixed(2)} frames for each frame of the process`}</dd>
    </dl>
    ${classes.length > 0 && html`<${Table} label="Classes" rows=${classes} columns=${COLUMNS} keyOf=${({ name }: ClassResult) => name} />`}
    ${isRunning(shadow) && html`<div class="row"><button type="button" onClick=${() => void end()}>End the shadow</button></div>`}
  `;
}
