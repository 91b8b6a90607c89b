/** Conditions that are told of when they come about. */
import { useState } from "preact/hooks";
import type { Alert } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Confirm } from "../../parts/dialog.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { attempt } from "../../parts/toasts.ts";
import { addressOf, place } from "../../router.ts";
import { windhover } from "../../session.ts";
import { NewAlertPage } from "./new-alert.ts";
import { Notices } from "./notices.ts";

const EVERY_MS = 3_000;

/** `/alerts` or `/alerts/new`. */
export function Alerts() {
  return place.value.parts[1] === "new" ? html`<${NewAlertPage} />` : html`<${AlertList} />`;
}

interface Known {
  readonly registered: readonly Alert[];
  /** Those of single processes. */
  readonly single: readonly Alert[];
}

function AlertList() {
  const { asked, reload } = useAsked(
    async (signal): Promise<Known> => {
      const [all, active] = await Promise.all([
        windhover.listAlerts({}, { signal }),
        windhover.listActiveAlerts({}, { signal }),
      ]);
      const known = new Set(all.alerts.map((alert) => alert.uuid));
      return { registered: all.alerts, single: active.alerts.filter((alert) => !known.has(alert.uuid)) };
    },
    [],
    EVERY_MS,
  );
  const [doomed, setDoomed] = useState<Alert | null>(null);
  const remove = async (alert: Alert): Promise<void> => {
    setDoomed(null);
    await attempt(() => windhover.deleteAlert({ uuid: alert.uuid }), `${alert.alias} is gone`);
    reload();
  };
  const turn = async (alert: Alert): Promise<void> => {
    const status = alert.status === "active" ? "inactive" : "active";
    await attempt(() => windhover.changeAlert({ uuid: alert.uuid, body: { status } }), `${alert.alias} is ${status}`);
    reload();
  };
  return html`
    <div class="row spread"><h1>Alerts</h1><a class="button primary" href=${addressOf("alerts", "new")}>New alert</a></div>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ registered, single }: Known) =>
        registered.length + single.length === 0
          ? html`<${Empty} title="No alerts yet"><p>An alert tells a broker or a web address when something comes about: a line is crossed, a place is crowded, a kind of object appears.</p></${Empty}>`
          : html`<${Table} alerts=${[...registered, ...single]} onTurn=${turn} onRemove=${setDoomed} />`}
    </${Shown}>
    <${Notices} />
    ${
      doomed !== null &&
      html`<${Confirm} title=${`Delete ${doomed.alias}?`} action="Delete" onClose=${() => setDoomed(null)} onConfirm=${() => void remove(doomed)}>
        <p>It stops on every process. What waits to be delivered is dropped.</p>
      </${Confirm}>`
    }
  `;
}

interface TableParts {
  readonly alerts: readonly Alert[];
  onTurn(alert: Alert): void;
  onRemove(alert: Alert): void;
}

const Table = ({ alerts, onTurn, onRemove }: TableParts) => html`
  <table class="cards">
    <thead><tr><th>Name</th><th>Type</th><th>On</th><th>Status</th><th>Told</th><th><span class="unseen">What to do</span></th></tr></thead>
    <tbody>${alerts.map(
      (alert) => html`
        <tr key=${alert.uuid}>
          <td><strong>${alert.alias}</strong>${alert.pending !== null && html`<p class="hint">A change waits for the next start of a process.</p>`}</td>
          <td data-name="Type">${alert.type}</td>
          <td data-name="On">${alert.process_uuid === null ? "all processes" : html`<a href=${addressOf("processes", alert.process_uuid)}>one process</a>`}</td>
          <td data-name="Status"><span class="state ${alert.status}">${alert.status}</span></td>
          <td data-name="Told">${alert.output.map((output, i) => html`<${Told} key=${i} output=${output} delivery=${alert.delivery[i]} />`)}</td>
          <td><div class="row">
            <button type="button" onClick=${() => onTurn(alert)}>${alert.status === "active" ? "Switch off" : "Switch on"}</button>
            <button type="button" class="plain" aria-label=${`Delete ${alert.alias}`} onClick=${() => onRemove(alert)}>Delete</button>
          </div></td>
        </tr>
      `,
    )}</tbody>
  </table>
`;

const Told = ({
  output,
  delivery,
}: {
  output: Alert["output"][number];
  delivery: Alert["delivery"][number] | undefined;
}) => {
  const { host, topic, url } = output.config as { host?: string; topic?: string; url?: string };
  return html`<div>
    <code>${output.type === "mqtt" ? `${host} ${topic}` : url}</code>
    ${delivery !== undefined && html`<p class="hint">${delivery.delivered} delivered, ${delivery.waiting} waiting${delivery.dropped > 0 ? `, ${delivery.dropped} dropped` : ""}${delivery.last_error ? `: ${delivery.last_error}` : ""}</p>`}
  </div>`;
};
