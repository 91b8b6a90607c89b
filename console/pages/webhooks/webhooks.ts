/** Webhooks, by process: subscribed, tested and removed. */
import { useState } from "preact/hooks";
import type { NewSubscription, Process } from "../../../client/client.ts";
import { confirm, FormDialog, WebhookSecret } from "../../components/dialog.ts";
import { Select, useSubmit } from "../../components/form.ts";
import { formatTime } from "../../components/format.ts";
import { useQuery, useSourceNames, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { attempt, showToast } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { linkTo } from "../../router.ts";
import { windhover } from "../../session.ts";

const POLL_MS = 2_000;

type Subscription = Awaited<ReturnType<typeof windhover.listSubscriptions>>["subscriptions"][number];

export function Webhooks() {
  const query = useQuery(
    async (signal) => {
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
    ${whenLoaded(query, (groups) =>
      groups.length === 0
        ? html`<${Empty} title="No running processes"><p>Webhooks belong to a process: <a href=${linkTo("processes", "new")}>start one</a>.</p></${Empty}>`
        : groups.map(
            ({ process, subscriptions }) => html`
                <section key=${process.uuid} class="stack gap">
                  <div class="row spread">
                    <h2><a href=${linkTo("processes", process.uuid)}>${nameOf(process)}</a></h2>
                    <button type="button" aria-label=${`Subscribe to ${nameOf(process)}`} onClick=${() => setSubscribing(process)}>Subscribe</button>
                  </div>
                  ${subscriptions.length === 0 ? html`<p class="hint">No webhooks yet. A webhook is called when new tracks appear, or when the number of targets changes.</p>` : html`<${SubscriptionTable} subscriptions=${subscriptions} onChange=${query.reload} />`}
                </section>
              `,
          ),
    )}
    ${subscribing !== null && html`<${Subscribe} process=${subscribing} name=${nameOf(subscribing)} onClose=${() => setSubscribing(null)} onDone=${query.reload} />`}
  `;
}

/** Addresses a subscription in the API. */
const keyOf = ({ process_uuid, notification_url, event_type }: Subscription) => ({
  process_uuid,
  body: { notification_url, event_type },
});

function SubscriptionTable({
  subscriptions,
  onChange,
}: {
  subscriptions: readonly Subscription[];
  onChange: () => void;
}) {
  const remove = async (one: Subscription): Promise<void> => {
    const text = html`<code>${one.notification_url}</code> will not be called for ${one.event_type}. Notifications that are not delivered yet are dropped.`;
    if (!(await confirm({ title: "Remove this webhook?", action: "Remove", text }))) return;
    await attempt(() => windhover.unsubscribe(keyOf(one)), "Webhook removed");
    onChange();
  };
  const actions = (one: Subscription) => html`<div class="row">
    <${SampleButton} subscription=${one} onChange=${onChange} />
    <button type="button" class="plain" aria-label=${`Remove ${one.notification_url}`} onClick=${() => void remove(one)}>Remove</button>
  </div>`;
  return html`<${Table} label="Webhooks" rows=${subscriptions} columns=${COLUMNS} actions=${actions} />`;
}

function SampleButton({ subscription, onChange }: { subscription: Subscription; onChange: () => void }) {
  const [isBusy, setBusy] = useState(false);
  const send = async (): Promise<void> => {
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
  return html`<button type="button" aria-disabled=${isBusy} aria-label=${`Send a sample to ${subscription.notification_url}`} onClick=${() => void send()}>Send a sample</button>`;
}

const COLUMNS: readonly Column<Subscription>[] = [
  ["URL", ({ notification_url }) => html`<code>${notification_url}</code>`],
  [
    "Event",
    ({ event_type, notification_format: format, notifier_policy_args: { backoff_seconds } }) =>
      html`${event_type}<p class="hint">${format}, at most every ${backoff_seconds} s</p>`,
  ],
  ["Delivered", ({ delivery }) => countDeliveries(delivery)],
  ["Last delivery", ({ delivery }) => html`<${LastDelivery} delivery=${delivery} />`],
];

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
  const form = useSubmit(async (data) => {
    const created = await windhover.subscribe({ process_uuid: process.uuid, body: readSubscription(data) });
    setSecret(created.secret);
    onDone();
  });
  if (secret !== null) return html`<${WebhookSecret} secret=${secret} onClose=${onClose} />`;
  return html`
    <${FormDialog} title=${`Subscribe to ${name}`} action="Subscribe" ...${form} onClose=${onClose}>
      <label>URL <input name="url" type="url" required placeholder="https://example.com/hook" autofocus /></label>
      <${Select} label="Event" name="event" options=${EVENTS} />
      <label>Minimum interval (s) <input name="seconds" type="number" min="0" max="86400" step="any" defaultValue="5" required /></label>
      <label class="check"><input name="full" type="checkbox" /> Include full entries of the detection message</label>
      <details><summary>Login before the first call</summary>
        <label>Login URL <input name="auth" type="url" placeholder="https://user:password@example.com/login" aria-describedby="auth-help" /></label>
        <p class="hint" id="auth-help">Called with the user and password of this URL. The token in its response is sent with every call.</p>
      </details>
    </${FormDialog}>
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
