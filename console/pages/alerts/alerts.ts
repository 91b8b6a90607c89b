/** Alerts, what they are on, their deliveries, and their notifications. */
import { useState } from "preact/hooks";
import type { Alert } from "../../../client/client.ts";
import { Confirm } from "../../components/dialog.ts";
import { Loaded, useQuery } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
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
  const [deleting, setDeleting] = useState<Alert | null>(null);
  const remove = async ({ uuid, alias }: Alert): Promise<void> => {
    setDeleting(null);
    await attempt(() => windhover.deleteAlert({ uuid }), `${alias} deleted`);
    query.reload();
  };
  const toggle = async ({ uuid, alias, status: before }: Alert): Promise<void> => {
    const status = before === "active" ? "inactive" : "active";
    await attempt(() => windhover.changeAlert({ uuid, body: { status } }), `${alias} is ${status}`);
    query.reload();
  };
  return html`
    <div class="row spread"><h1>Alerts</h1><a class="button primary" href=${linkTo("alerts", "new")}>New alert</a></div>
    <${Loaded} query=${query}>
      ${(alerts: readonly Alert[]) =>
        alerts.length === 0
          ? html`<${Empty} title="No alerts yet"><p>An alert notifies an MQTT broker or a webhook when its condition is met: a line is crossed, an area is crowded, an object of some class appears.</p></${Empty}>`
          : html`<${Table} alerts=${alerts} onToggle=${toggle} onDelete=${setDeleting} />`}
    </${Loaded}>
    <${Notifications} />
    ${
      deleting !== null &&
      html`<${Confirm} title=${`Delete ${deleting.alias}?`} action="Delete" onClose=${() => setDeleting(null)} onConfirm=${() => void remove(deleting)}>
        <p>It stops on every process. Notifications that are not delivered yet are dropped.</p>
      </${Confirm}>`
    }
  `;
}

interface TableProps {
  readonly alerts: readonly Alert[];
  onToggle(alert: Alert): void;
  onDelete(alert: Alert): void;
}

const Table = ({ alerts, onToggle, onDelete }: TableProps) => html`
  <table class="cards" aria-label="Alerts">
    <thead><tr><th>Name</th><th>Type</th><th>Applies to</th><th>Status</th><th>Destination</th><th><span class="unseen">Actions</span></th></tr></thead>
    <tbody>${alerts.map((alert) => {
      const { uuid, alias, status, process_uuid } = alert;
      const toggle = status === "active" ? "Disable" : "Enable";
      return html`
        <tr key=${uuid}>
          <td><a href=${linkTo("alerts", uuid)}>${alias}</a>${alert.pending !== null && html`<p class="hint">A change applies from the next process start.</p>`}</td>
          <td data-name="Type">${alert.type}</td>
          <td data-name="Applies to">${process_uuid === null ? "all processes" : html`<a href=${linkTo("processes", process_uuid)}>one process</a>`}</td>
          <td data-name="Status"><span class="state ${status}">${status}</span></td>
          <td data-name="Destination">${alert.output.map((output, i) => html`<${Destination} key=${i} output=${output} delivery=${alert.delivery[i]} />`)}</td>
          <td><div class="row">
            <a class="button" aria-label=${`Edit ${alias}`} href=${linkTo("alerts", uuid)}>Edit</a>
            <button type="button" aria-label=${`${toggle} ${alias}`} onClick=${() => onToggle(alert)}>${toggle}</button>
            <button type="button" class="plain" aria-label=${`Delete ${alias}`} onClick=${() => onDelete(alert)}>Delete</button>
          </div></td>
        </tr>
      `;
    })}</tbody>
  </table>
`;

interface DestinationProps {
  readonly output: Alert["output"][number];
  readonly delivery: Alert["delivery"][number] | undefined;
}

const Destination = ({ output, delivery }: DestinationProps) => {
  const { host, topic, url } = output.config as { host?: string; topic?: string; url?: string };
  return html`<div>
    <code>${output.type === "mqtt" ? `${host} ${topic}` : url}</code>
    ${
      delivery !== undefined &&
      html`<p class="hint">${delivery.delivered} delivered${delivery.waiting > 0 ? `, ${delivery.waiting} queued` : ""}${delivery.dropped > 0 ? `, ${delivery.dropped} dropped` : ""}</p>
        ${delivery.last_error !== null && html`<p class="hint"><span class="state failed">failed</span> ${delivery.last_error}</p>`}`
    }
  </div>`;
};
