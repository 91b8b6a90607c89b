/** All alerts: what they are on, whether they watch, and how those who are told get it. */
import type { Alert } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { addressOf } from "../../router.ts";

interface TableParts {
  readonly alerts: readonly Alert[];
  onTurn(alert: Alert): void;
  onRemove(alert: Alert): void;
}

export const AlertTable = ({ alerts, onTurn, onRemove }: TableParts) => html`
  <table class="cards" aria-label="Alerts">
    <thead><tr><th>Name</th><th>Type</th><th>On</th><th>Status</th><th>Told</th><th><span class="unseen">What to do</span></th></tr></thead>
    <tbody>${alerts.map(
      (alert) => html`
        <tr key=${alert.uuid}>
          <td><a href=${addressOf("alerts", alert.uuid)}>${alert.alias}</a>${alert.pending !== null && html`<p class="hint">A change waits for the next start of a process.</p>`}</td>
          <td data-name="Type">${alert.type}</td>
          <td data-name="On">${alert.process_uuid === null ? "all processes" : html`<a href=${addressOf("processes", alert.process_uuid)}>one process</a>`}</td>
          <td data-name="Status"><span class="state ${alert.status}">${alert.status}</span></td>
          <td data-name="Told">${alert.output.map((output, i) => html`<${Told} key=${i} output=${output} delivery=${alert.delivery[i]} />`)}</td>
          <td><div class="row">
            <a class="button" aria-label=${`Change ${alert.alias}`} href=${addressOf("alerts", alert.uuid)}>Change</a>
            <button type="button" aria-label=${`${alert.status === "active" ? "Switch off" : "Switch on"} ${alert.alias}`} onClick=${() => onTurn(alert)}>${alert.status === "active" ? "Switch off" : "Switch on"}</button>
            <button type="button" class="plain" aria-label=${`Delete ${alert.alias}`} onClick=${() => onRemove(alert)}>Delete</button>
          </div></td>
        </tr>
      `,
    )}</tbody>
  </table>
`;

interface ToldParts {
  readonly output: Alert["output"][number];
  readonly delivery: Alert["delivery"][number] | undefined;
}

const Told = ({ output, delivery }: ToldParts) => {
  const { host, topic, url } = output.config as { host?: string; topic?: string; url?: string };
  return html`<div>
    <code>${output.type === "mqtt" ? `${host} ${topic}` : url}</code>
    ${
      delivery !== undefined &&
      html`<p class="hint">${delivery.delivered} delivered${delivery.waiting > 0 ? `, ${delivery.waiting} waiting` : ""}${delivery.dropped > 0 ? `, ${delivery.dropped} dropped` : ""}</p>
        ${delivery.last_error !== null && html`<p class="hint"><span class="state failed">failed</span> ${delivery.last_error}</p>`}`
    }
  </div>`;
};
