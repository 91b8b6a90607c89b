/** Alerts, what they are on, their deliveries, and their notifications. */
import type { Alert } from "../../../client/client.ts";
import { confirm } from "../../components/dialog.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { attempt } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { linkTo, route } from "../../router.ts";
import { windhover } from "../../session.ts";
import { EditAlertPage, NewAlertPage } from "./edit-alert.ts";
import { Notifications } from "./notifications.ts";

const POLL_MS = 2_000;

/** `/alerts`, `/alerts/new` or `/alerts/{uuid}`. */
export function Alerts() {
  const [, uuid] = route.value.segments;
  if (uuid === undefined) return html`<${AlertList} />`;
  return uuid === "new" ? html`<${NewAlertPage} />` : html`<${EditAlertPage} key=${uuid} uuid=${uuid} />`;
}

/** Registered alerts, then those of single processes. */
async function listAlerts(signal: AbortSignal): Promise<readonly Alert[]> {
  const [all, active] = await Promise.all([
    windhover.listAlerts({}, { signal }),
    windhover.listActiveAlerts({}, { signal }),
  ]);
  const registered = new Set(all.alerts.map(({ uuid }) => uuid));
  return [...all.alerts, ...active.alerts.filter(({ uuid }) => !registered.has(uuid))];
}

function AlertList() {
  const query = useQuery(listAlerts, [], POLL_MS);
  const remove = async ({ uuid, alias }: Alert): Promise<void> => {
    const text = "It stops on every process. Notifications that are not delivered yet are dropped.";
    if (!(await confirm({ title: `Delete ${alias}?`, action: "Delete", text }))) return;
    await attempt(() => windhover.deleteAlert({ uuid }), `${alias} deleted`);
    query.reload();
  };
  const toggle = async ({ uuid, alias, status: before }: Alert): Promise<void> => {
    const status = before === "active" ? "inactive" : "active";
    await attempt(() => windhover.changeAlert({ uuid, body: { status } }), `${alias} is ${status}`);
    query.reload();
  };
  const actions = (alert: Alert) => {
    const [alias, switching] = [alert.alias, alert.status === "active" ? "Disable" : "Enable"];
    return html`<div class="row">
      <a class="button" aria-label=${`Edit ${alias}`} href=${linkTo("alerts", alert.uuid)}>Edit</a>
      <button type="button" aria-label=${`${switching} ${alias}`} onClick=${() => void toggle(alert)}>${switching}</button>
      <button type="button" class="plain" aria-label=${`Delete ${alias}`} onClick=${() => void remove(alert)}>Delete</button>
    </div>`;
  };
  return html`
    <div class="row spread"><h1>Alerts</h1><a class="button primary" href=${linkTo("alerts", "new")}>New alert</a></div>
    ${whenLoaded(query, (alerts) =>
      alerts.length === 0
        ? html`<${Empty} title="No alerts yet"><p>An alert notifies you when its condition is met, here and at a destination of your choice: a line is crossed, an area is crowded, an object of some class appears.</p></${Empty}>`
        : html`<${Table} label="Alerts" rows=${alerts} columns=${COLUMNS} actions=${actions} />`,
    )}
    <${Notifications} />
  `;
}

const COLUMNS: readonly Column<Alert>[] = [
  [
    "Name",
    ({ uuid, alias, pending }) =>
      html`<a href=${linkTo("alerts", uuid)}>${alias}</a>${pending !== null && html`<p class="hint">A change applies from the next process start.</p>`}`,
  ],
  ["Type", ({ type }) => type],
  [
    "Applies to",
    ({ process_uuid: uuid }) =>
      uuid === null ? "all processes" : html`<a href=${linkTo("processes", uuid)}>one process</a>`,
  ],
  ["Status", ({ status }) => html`<span class="state ${status}">${status}</span>`],
  [
    "Destination",
    ({ output: outputs, delivery }) =>
      outputs.length === 0
        ? html`console only, <a href=${linkTo("review")}>Review</a>`
        : outputs.map((output, i) => html`<${Destination} key=${i} output=${output} delivery=${delivery[i]} />`),
  ],
];

type Delivery = Alert["delivery"][number];

const Destination = ({ output, delivery }: { output: Alert["output"][number]; delivery: Delivery | undefined }) => {
  const { host, topic, url, to } = output.config as { host?: string; topic?: string; url?: string; to?: string[] };
  return html`<div>
    <code>${output.type === "mqtt" ? `${host} ${topic}` : (url ?? to?.join(", "))}</code>
    ${
      delivery !== undefined &&
      html`<p class="hint">${delivery.delivered} delivered${delivery.waiting > 0 ? `, ${delivery.waiting} queued` : ""}${delivery.dropped > 0 ? `, ${delivery.dropped} dropped` : ""}</p>
        ${delivery.last_error !== null && html`<p class="hint"><span class="state failed">failed</span> ${delivery.last_error}</p>`}`
    }
  </div>`;
};
