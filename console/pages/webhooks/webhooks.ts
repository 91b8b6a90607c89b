/** Calls to addresses of one's own, by process, with how their deliveries get on. */
import { useState } from "preact/hooks";
import type { ApiError, NewSubscription, Process } from "../../../client/client.ts";
import { toApiError, useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Copyable } from "../../parts/copy.ts";
import { Dialog } from "../../parts/dialog.ts";
import { formatTime } from "../../parts/format.ts";
import { Empty, Failed, Shown } from "../../parts/states.ts";
import { attempt, say } from "../../parts/toasts.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";

const EVERY_MS = 3_000;

type Listed = Awaited<ReturnType<typeof windhover.listSubscriptions>>["subscriptions"][number];

interface Group {
  readonly process: Process;
  readonly subscriptions: readonly Listed[];
}

export function Webhooks() {
  const { asked, reload } = useAsked(
    async (signal): Promise<readonly Group[]> => {
      const { processes } = await windhover.listProcesses({}, { signal });
      return Promise.all(
        processes.map(async (process) => ({
          process,
          ...(await windhover.listSubscriptions({ process_uuid: process.uuid }, { signal })),
        })),
      );
    },
    [],
    EVERY_MS,
  );
  const [adding, setAdding] = useState<Process | null>(null);
  return html`
    <h1>Webhooks</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${(groups: readonly Group[]) =>
        groups.length === 0
          ? html`<${Empty} title="No process runs"><p>Webhooks belong to a process: <a href=${addressOf("processes", "new")}>start one</a>.</p></${Empty}>`
          : groups.map(
              (group) =>
                html`<${ProcessGroup} key=${group.process.uuid} group=${group} onAdd=${() => setAdding(group.process)} onChange=${reload} />`,
            )}
    </${Shown}>
    ${adding !== null && html`<${Subscribe} process=${adding} onClose=${() => setAdding(null)} onDone=${reload} />`}
  `;
}

function ProcessGroup({ group, onAdd, onChange }: { group: Group; onAdd: () => void; onChange: () => void }) {
  const { process, subscriptions } = group;
  const choose = ({ notification_url, event_type }: Listed) => ({
    process_uuid: process.uuid,
    body: { notification_url, event_type },
  });
  const test = async (one: Listed): Promise<void> => {
    await attempt(async () => {
      const { tests } = await windhover.testSubscriptions(choose(one));
      const [result] = tests;
      if (result?.delivered === true) say("The sample was delivered");
      else say(result?.detail ?? "nothing was sent", true);
    });
    onChange();
  };
  const remove = async (one: Listed): Promise<void> => {
    await attempt(() => windhover.unsubscribe(choose(one)), "Removed");
    onChange();
  };
  return html`
    <section class="stack gap">
      <div class="row spread"><h2><a href=${addressOf("processes", process.uuid)}>${process.source_url}</a></h2><button type="button" onClick=${onAdd}>Subscribe</button></div>
      ${
        subscriptions.length === 0
          ? html`<p class="hint">Nobody is called.</p>`
          : html`<table class="cards">
              <thead><tr><th>Address</th><th>Event</th><th>Delivered</th><th>Last</th><th><span class="unseen">What to do</span></th></tr></thead>
              <tbody>${subscriptions.map(
                (one) => html`<tr key=${one.uuid}>
                  <td><code>${one.notification_url}</code></td>
                  <td data-name="Event">${one.event_type}, ${one.notification_format}, every ${one.notifier_policy_args.backoff_seconds} s at most</td>
                  <td data-name="Delivered">${one.delivery.delivered}${one.delivery.waiting > 0 ? `, ${one.delivery.waiting} waiting` : ""}${one.delivery.dropped > 0 ? `, ${one.delivery.dropped} dropped` : ""}</td>
                  <td data-name="Last">${one.delivery.last_error === null ? formatTime(one.delivery.last_delivered_at) : html`<span class="state failed">failed</span> ${one.delivery.last_error}`}</td>
                  <td><div class="row"><button type="button" onClick=${() => void test(one)}>Send a sample</button><button type="button" class="plain" onClick=${() => void remove(one)}>Remove</button></div></td>
                </tr>`,
              )}</tbody>
            </table>`
      }
    </section>
  `;
}

function Subscribe({ process, onClose, onDone }: { process: Process; onClose: () => void; onDone: () => void }) {
  const [error, setError] = useState<ApiError | null>(null);
  const [secret, setSecret] = useState<string | null>(null);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const body: NewSubscription = {
      notification_url: String(form.get("url")).trim(),
      event_type: String(form.get("event")) as NewSubscription["event_type"],
      notification_format: form.get("full") === null ? "simple" : "full",
      notifier_policy_args: { backoff_seconds: Number(form.get("seconds")) },
    };
    try {
      const made = await windhover.subscribe({ process_uuid: process.uuid, body });
      setSecret(made.secret);
      onDone();
    } catch (fault) {
      setError(toApiError(fault));
    }
  };
  if (secret !== null)
    return html`<${Dialog} title="Subscribed" onClose=${onClose}>
      <div class="body"><p>Calls are signed with this secret. It is shown only now.</p><${Copyable} label="secret" text=${secret} /></div>
      <footer><button type="button" class="primary" onClick=${onClose}>Done</button></footer>
    </${Dialog}>`;
  return html`
    <${Dialog} title=${`Subscribe to ${process.source_url}`} onClose=${onClose}>
      <form onSubmit=${submit}>
        <div class="body">
          <label>Address <input name="url" type="url" required placeholder="https://example.com/hook" autofocus /></label>
          <label>Event <select name="event"><option value="new-tracks">new-tracks: something new is seen</option><option value="target-count">target-count: their number changes</option></select></label>
          <label>Seconds between two calls, at least <input name="seconds" type="number" min="0" max="86400" step="any" value="5" required /></label>
          <label class="check"><input name="full" type="checkbox" /> With whole entries of the detection message</label>
          ${error !== null && html`<${Failed} error=${error} />`}
        </div>
        <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary">Subscribe</button></footer>
      </form>
    </${Dialog}>
  `;
}
