/** Webhooks, by process: subscribed, tested and removed. */
import { useState } from "preact/hooks";
import type { NewSubscription, Process } from "../../../client/client.ts";
import { Confirm, Dialog, WebhookSecret } from "../../components/dialog.ts";
import { Select, useSubmit } from "../../components/form.ts";
import { formatTime } from "../../components/format.ts";
import { Loaded, useQuery, useSourceNames } from "../../components/query.ts";
import { Empty, Failed } from "../../components/states.ts";
import { attempt, showToast } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { linkTo } from "../../router.ts";
import { windhover } from "../../session.ts";

const POLL_MS = 2_000;

type Subscription = Awaited<ReturnType<typeof windhover.listSubscriptions>>["subscriptions"][number];

interface ProcessWebhooks {
  readonly process: Process;
  readonly subscriptions: readonly Subscription[];
}

export function Webhooks() {
  const query = useQuery(
    async (signal): Promise<readonly ProcessWebhooks[]> => {
      const { processes } = await windhover.listProcesses({}, { signal });
      return Promise.all(
        processes.map(async (process) => ({
          process,
          ...(await windhover.listSubscriptions({ process_uuid: process.uuid }, { signal })),
        })),
      );
    },
    [],
    POLL_MS,
  );
  const nameOf = useSourceNames();
  const [subscribing, setSubscribing] = useState<Process | null>(null);
  return html`
    <h1>Webhooks</h1>
    <${Loaded} query=${query}>
      ${(groups: readonly ProcessWebhooks[]) =>
        groups.length === 0
          ? html`<${Empty} title="No running processes"><p>Webhooks belong to a process: <a href=${linkTo("processes", "new")}>start one</a>.</p></${Empty}>`
          : groups.map(
              ({ process, subscriptions }) => html`
                <section key=${process.uuid} class="stack gap">
                  <div class="row spread">
                    <h2><a href=${linkTo("processes", process.uuid)}>${nameOf(process)}</a></h2>
                    <button type="button" aria-label=${`Subscribe to ${nameOf(process)}`} onClick=${() => setSubscribing(process)}>Subscribe</button>
                  </div>
                  ${subscriptions.length === 0 ? html`<p class="hint">No webhooks yet. A webhook is called when new tracks appear, or when the number of targets changes.</p>` : html`<${Table} subscriptions=${subscriptions} onChange=${query.reload} />`}
                </section>
              `,
            )}
    </${Loaded}>
    ${subscribing !== null && html`<${Subscribe} process=${subscribing} name=${nameOf(subscribing)} onClose=${() => setSubscribing(null)} onDone=${query.reload} />`}
  `;
}

/** Addresses a subscription in the API. */
const keyOf = ({ process_uuid, notification_url, event_type }: Subscription) => ({
  process_uuid,
  body: { notification_url, event_type },
});

function Table({ subscriptions, onChange }: { subscriptions: readonly Subscription[]; onChange: () => void }) {
  const [removing, setRemoving] = useState<Subscription | null>(null);
  const remove = async (one: Subscription): Promise<void> => {
    setRemoving(null);
    await attempt(() => windhover.unsubscribe(keyOf(one)), "Webhook removed");
    onChange();
  };
  return html`
    <table class="cards" aria-label="Webhooks">
      <thead><tr><th>URL</th><th>Event</th><th>Delivered</th><th>Last delivery</th><th><span class="unseen">Actions</span></th></tr></thead>
      <tbody>${subscriptions.map((one) => html`<${Row} key=${one.uuid} subscription=${one} onChange=${onChange} onRemove=${() => setRemoving(one)} />`)}</tbody>
    </table>
    ${
      removing !== null &&
      html`<${Confirm} title="Remove this webhook?" action="Remove" onClose=${() => setRemoving(null)} onConfirm=${() => void remove(removing)}>
        <p><code>${removing.notification_url}</code> will not be called for ${removing.event_type}. Notifications that are not delivered yet are dropped.</p>
      </${Confirm}>`
    }
  `;
}

interface RowProps {
  readonly subscription: Subscription;
  onChange(): void;
  onRemove(): void;
}

function Row({ subscription, onChange, onRemove }: RowProps) {
  const [isBusy, setBusy] = useState(false);
  const test = async (): Promise<void> => {
    if (isBusy) return;
    setBusy(true);
    await attempt(async () => {
      const [result] = (await windhover.testSubscriptions(keyOf(subscription))).tests;
      if (result?.delivered === true) showToast("Sample delivered");
      else showToast(`Sample not delivered: ${result?.detail ?? "nothing was sent"}`, true);
    });
    setBusy(false);
    onChange();
  };
  const { notification_url: url, event_type, notification_format, notifier_policy_args, delivery } = subscription;
  return html`
    <tr>
      <td><code>${url}</code></td>
      <td data-name="Event">${event_type}<p class="hint">${notification_format}, at most every ${notifier_policy_args.backoff_seconds} s</p></td>
      <td data-name="Delivered">${countDeliveries(delivery)}</td>
      <td data-name="Last delivery"><${LastDelivery} delivery=${delivery} /></td>
      <td><div class="row">
        <button type="button" aria-disabled=${isBusy} aria-label=${`Send a sample to ${url}`} onClick=${() => void test()}>Send a sample</button>
        <button type="button" class="plain" aria-label=${`Remove ${url}`} onClick=${onRemove}>Remove</button>
      </div></td>
    </tr>
  `;
}

const countDeliveries = ({ delivered, waiting, dropped }: Subscription["delivery"]): string =>
  [`${delivered}`, waiting > 0 && `${waiting} queued`, dropped > 0 && `${dropped} dropped`].filter(Boolean).join(", ");

const LastDelivery = ({ delivery }: { delivery: Subscription["delivery"] }) => {
  const { last_error, last_attempt_at, last_delivered_at } = delivery;
  if (last_error !== null)
    return html`<span class="state failed">failed</span> ${formatTime(last_attempt_at)}<p class="hint">${last_error}</p>`;
  return last_delivered_at === null
    ? html`none yet`
    : html`<span class="state live">delivered</span> ${formatTime(last_delivered_at)}`;
};

const EVENTS = [
  ["new-tracks", "New tracks appear (new-tracks)"],
  ["target-count", "The number of targets changes (target-count)"],
];

interface SubscribeProps {
  readonly process: Process;
  /** Of its source. */
  readonly name: string;
  onClose(): void;
  onDone(): void;
}

function Subscribe({ process, name, onClose, onDone }: SubscribeProps) {
  const [secret, setSecret] = useState<string | null>(null);
  const { error, isBusy, submit } = useSubmit(async (form) => {
    const created = await windhover.subscribe({ process_uuid: process.uuid, body: readSubscription(form) });
    setSecret(created.secret);
    onDone();
  });
  if (secret !== null) return html`<${WebhookSecret} secret=${secret} onClose=${onClose} />`;
  return html`
    <${Dialog} title=${`Subscribe to ${name}`} onClose=${onClose}>
      <form onSubmit=${submit}>
        <div class="body">
          <label>URL <input name="url" type="url" required placeholder="https://example.com/hook" autofocus /></label>
          <${Select} label="Event" name="event" options=${EVENTS} />
          <label>Minimum interval (s) <input name="seconds" type="number" min="0" max="86400" step="any" defaultValue="5" required /></label>
          <label class="check"><input name="full" type="checkbox" /> Include full entries of the detection message</label>
          <details><summary>Login before the first call</summary>
            <label>Login URL <input name="auth" type="url" placeholder="https://user:password@example.com/login" aria-describedby="auth-help" /></label>
            <p class="hint" id="auth-help">Called with the user and password of this URL. The token in its response is sent with every call.</p>
          </details>
          ${error !== null && html`<${Failed} error=${error} />`}
        </div>
        <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary" disabled=${isBusy}>Subscribe</button></footer>
      </form>
    </${Dialog}>
  `;
}

function readSubscription(form: FormData): NewSubscription {
  const login = String(form.get("auth") ?? "").trim();
  return {
    notification_url: String(form.get("url")).trim(),
    event_type: String(form.get("event")) as NewSubscription["event_type"],
    notification_format: form.get("full") === null ? "simple" : "full",
    notifier_policy_args: { backoff_seconds: Number(form.get("seconds")) },
    ...(login !== "" && { auth_url: login }),
  };
}
