/** For operators: the nodes of the service with their load; a node can be drained. */
import type { ComponentChildren } from "preact";
import type { Node } from "../../../client/client.ts";
import { confirm } from "../../components/dialog.ts";
import { formatBytes, formatCount, formatTime, formatUptime } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { type Column, Table } from "../../components/table.ts";
import { attempt } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";

const POLL_MS = 3_000;

export function Nodes() {
  const query = useQuery((signal) => windhover.listNodes({ signal }), [], POLL_MS);
  return html`
    <h1>Nodes</h1>
    ${whenLoaded(
      query,
      ({ nodes, waiting }) => html`
        <div class="stack"><${Summary} nodes=${nodes} waiting=${waiting} />
        <${Table} label="Nodes" rows=${nodes} columns=${COLUMNS}
          actions=${(node: Node) => html`<${DrainButton} node=${node} nodes=${nodes} onDone=${query.reload} />`} /></div>
      `,
    )}
  `;
}

const Summary = ({ nodes, waiting }: { nodes: readonly Node[]; waiting: number }) => {
  const live = nodes.filter(({ state }) => state !== "lost");
  const processes = live.reduce((sum, { reserved }) => sum + (reserved.processes ?? 0), 0);
  return html`
    <p class="hint">${formatCount(live.length, "node")}, ${processes === 1 ? "1 process" : `${processes} processes`}.
      ${nodes.length === 1 && " Several machines with the same database form one service."}</p>
    ${waiting > 0 && html`<p class="notice" role="status"><strong>${waiting === 1 ? "1 process waits" : `${waiting} processes wait`} for room.</strong> Add a node with the labels they ask for, or stop other processes.</p>`}
  `;
};

/** Host and port: the scheme is the same for all. A single node has no address for others. */
const nameOf = ({ uuid, url, is_this }: Node): string => {
  if (url !== null) return new URL(url).host;
  return is_this ? "This node" : uuid.slice(-12);
};

const COLUMNS: readonly Column<Node>[] = [
  [
    "Node",
    (node) => html`
      <div class="row"><strong title=${node.uuid}>${nameOf(node)}</strong>${node.is_this && node.url !== null && html`<span class="state" title="The node that answers this page">answers here</span>`}</div>
      ${Object.keys(node.labels).length > 0 && html`<ul class="tags row" aria-label="Labels">${Object.entries(node.labels).map(([name, value]) => html`<li key=${name}>${name}=${value}</li>`)}</ul>`}
    `,
  ],
  [
    "State",
    ({ state, drains_until }) => html`
      <span class=${`state ${state}`}>${state}</span>
      ${state === "draining" && html`<div class="hint" title=${formatTime(drains_until)}>until ${new Date(drains_until ?? 0).toLocaleTimeString()}</div>`}
    `,
  ],
  ["Version", ({ version }) => version],
  [
    "Processes",
    ({ reserved, capacity }) => html`
      <${Gauge} label="Processes" reserved=${reserved.processes ?? 0} used=${null} capacity=${capacity.processes}>
        ${reserved.processes ?? 0}${capacity.processes !== null && ` of ${capacity.processes}`}
      </${Gauge}>
    `,
  ],
  [
    "Cores",
    ({ state, reserved, used, capacity }) => html`
      <${Amount} label="Cores" reserved=${reserved.cores ?? 0} used=${state === "lost" ? null : (used?.cores ?? null)} capacity=${capacity.cores}
        format=${(cores: number) => String(Math.round(cores * 10) / 10)} />
    `,
  ],
  [
    "Memory",
    ({ state, reserved, used, capacity }) => html`
      <${Amount} label="Memory" reserved=${reserved.memory_bytes ?? 0} used=${state === "lost" ? null : (used?.memory_bytes ?? null)}
        capacity=${capacity.memory_bytes} format=${formatBytes} />
    `,
  ],
  [
    "Uptime",
    ({ started_at, state }) =>
      state === "lost"
        ? "—"
        : html`<span title=${formatTime(started_at)}>${formatUptime(Date.now() - Date.parse(started_at))}</span>`,
  ],
];

interface GaugeProps {
  readonly label: string;
  readonly reserved: number;
  /** Measured; null: unknown. */
  readonly used: number | null;
  /** Null: not limited. */
  readonly capacity: number | null;
  readonly children: ComponentChildren;
}

/** A bar of what is reserved, with a mark at what is in use; without a limit only the text. */
const Gauge = ({ label, reserved, used, capacity, children }: GaugeProps) => {
  const share = (value: number): string => `${Math.min(100, (100 * value) / (capacity || 1))}%`;
  return html`
    <div class="gauge">
      ${
        capacity !== null &&
        html`
          <div class="bar" role="meter" aria-label=${label} aria-valuemin="0" aria-valuemax=${capacity} aria-valuenow=${Math.min(reserved, capacity)}>
            <span class=${reserved > capacity * FULL ? "reserved full" : "reserved"} style=${{ width: share(reserved) }}></span>
            ${used !== null && html`<span class="used" style=${{ left: share(used) }}></span>`}
          </div>
        `
      }
      <span class="text">${children}</span>
    </div>
  `;
};
/** Beyond this share a bar is highlighted. */
const FULL = 0.9;

interface AmountProps extends Omit<GaugeProps, "children"> {
  format(value: number): string;
}

const Amount = ({ format, ...gauge }: AmountProps) => html`
  <${Gauge} ...${gauge}>
    ${format(gauge.reserved)}${gauge.capacity !== null && ` of ${format(gauge.capacity)}`} reserved${gauge.used !== null && html`<br />${format(gauge.used)} in use`}
  </${Gauge}>
`;

interface DrainProps {
  readonly node: Node;
  readonly nodes: readonly Node[];
  onDone(): void;
}

const DrainButton = ({ node, nodes, onDone }: DrainProps) => {
  const { uuid, state, reserved } = node;
  const name = nameOf(node);
  if (state === "lost" || (nodes.length === 1 && state === "live")) return null;
  const act = async (action: () => Promise<unknown>, done: string): Promise<void> => {
    await attempt(action, done);
    onDone();
  };
  const drain = async (): Promise<void> => {
    const hasOthers = nodes.some((other) => other.uuid !== uuid && other.state === "live");
    const count = reserved.processes ?? 0;
    const moved =
      count === 1
        ? "Its process moves to another node, with a short gap."
        : `Its ${count} processes move to other nodes, one after the other, each with a short gap.`;
    const what = !hasOthers
      ? "There is no other live node: its processes stop and wait for room."
      : count === 0
        ? ""
        : moved;
    const isConfirmed = await confirm({
      title: `Drain ${name}?`,
      text: `The node takes no more processes. ${what}`,
      action: "Drain",
    });
    if (isConfirmed) await act(() => windhover.drainNode({ node_uuid: uuid }), `${name} is draining`);
  };
  const undrain = () => act(() => windhover.undrainNode({ node_uuid: uuid }), `${name} takes processes again`);
  return html`
    <div class="row actions">
      ${
        state === "draining"
          ? html`<button type="button" aria-label=${`End draining of ${name}`} onClick=${() => void undrain()}>End draining</button>`
          : html`<button type="button" aria-label=${`Drain ${name}`} onClick=${() => void drain()}>Drain</button>`
      }
    </div>
  `;
};
