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
import { AlertTable } from "./alert-table.ts";
import { EditAlertPage } from "./edit-alert.ts";
import { NewAlertPage } from "./new-alert.ts";
import { Notices } from "./notices.ts";

const EVERY_MS = 2_000;

/** `/alerts`, `/alerts/new` or `/alerts/{uuid}`. */
export function Alerts() {
  const [, which] = place.value.parts;
  if (which === undefined) return html`<${AlertList} />`;
  return which === "new" ? html`<${NewAlertPage} />` : html`<${EditAlertPage} key=${which} uuid=${which} />`;
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
    await attempt(
      () => windhover.changeAlert({ uuid: alert.uuid, body: { status } }),
      `${alert.alias} is ${status === "active" ? "on" : "off"}`,
    );
    reload();
  };
  return html`
    <div class="row spread"><h1>Alerts</h1><a class="button primary" href=${addressOf("alerts", "new")}>New alert</a></div>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ registered, single }: Known) =>
        registered.length + single.length === 0
          ? html`<${Empty} title="No alerts yet"><p>An alert tells a broker or a web address when something comes about: a line is crossed, a place is crowded, a kind of object appears.</p></${Empty}>`
          : html`<${AlertTable} alerts=${[...registered, ...single]} onTurn=${turn} onRemove=${setDoomed} />`}
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
