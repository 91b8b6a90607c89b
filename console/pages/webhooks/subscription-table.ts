/** Who is called for one process, and how their deliveries get on. */
import { useState } from "preact/hooks";
import { html } from "../../html.ts";
import { Confirm } from "../../parts/dialog.ts";
import { formatTime } from "../../parts/format.ts";
import { attempt, say } from "../../parts/toasts.ts";
import { windhover } from "../../session.ts";

export type Listed = Awaited<ReturnType<typeof windhover.listSubscriptions>>["subscriptions"][number];

interface TableParts {
  readonly subscriptions: readonly Listed[];
  /** Something may be different now. */
  onChange(): void;
}

const choose = ({ process_uuid, notification_url, event_type }: Listed) => ({
  process_uuid,
  body: { notification_url, event_type },
});

export function SubscriptionTable({ subscriptions, onChange }: TableParts) {
  const [doomed, setDoomed] = useState<Listed | null>(null);
  const remove = async (one: Listed): Promise<void> => {
    setDoomed(null);
    await attempt(() => windhover.unsubscribe(choose(one)), "It is not called any more");
    onChange();
  };
  return html`
    <table class="cards" aria-label="Webhooks">
      <thead><tr><th>Address</th><th>Event</th><th>Delivered</th><th>Last</th><th><span class="unseen">What to do</span></th></tr></thead>
      <tbody>${subscriptions.map((one) => html`<${Row} key=${one.uuid} one=${one} onChange=${onChange} onRemove=${() => setDoomed(one)} />`)}</tbody>
    </table>
    ${
      doomed !== null &&
      html`<${Confirm} title="Remove this webhook?" action="Remove" onClose=${() => setDoomed(null)} onConfirm=${() => void remove(doomed)}>
        <p><code>${doomed.notification_url}</code> is not called for ${doomed.event_type} any more. What waits to be delivered is dropped.</p>
      </${Confirm}>`
    }
  `;
}

function Row({ one, onChange, onRemove }: { one: Listed; onChange: () => void; onRemove: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const test = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    await attempt(async () => {
      const [result] = (await windhover.testSubscriptions(choose(one))).tests;
      if (result?.delivered === true) say("The sample was delivered");
      else say(`The sample was not delivered: ${result?.detail ?? "nothing was sent"}`, true);
    });
    setBusy(false);
    onChange();
  };
  const { backoff_seconds } = one.notifier_policy_args;
  return html`
    <tr>
      <td><code>${one.notification_url}</code></td>
      <td data-name="Event">${one.event_type}<p class="hint">${one.notification_format}, every ${backoff_seconds} s at most</p></td>
      <td data-name="Delivered">${countUp(one.delivery)}</td>
      <td data-name="Last"><${Last} delivery=${one.delivery} /></td>
      <td><div class="row">
        <button type="button" aria-disabled=${isBusy} aria-label=${`Send a sample to ${one.notification_url}`} onClick=${() => void test()}>Send a sample</button>
        <button type="button" class="plain" aria-label=${`Remove ${one.notification_url}`} onClick=${onRemove}>Remove</button>
      </div></td>
    </tr>
  `;
}

const countUp = ({ delivered, waiting, dropped }: Listed["delivery"]): string =>
  [`${delivered}`, waiting > 0 && `${waiting} waiting`, dropped > 0 && `${dropped} dropped`].filter(Boolean).join(", ");

const Last = ({ delivery: { last_error, last_attempt_at, last_delivered_at } }: { delivery: Listed["delivery"] }) => {
  if (last_error !== null)
    return html`<span class="state failed">failed</span> ${formatTime(last_attempt_at)}<p class="hint">${last_error}</p>`;
  return last_delivered_at === null
    ? html`none yet`
    : html`<span class="state live">delivered</span> ${formatTime(last_delivered_at)}`;
};
