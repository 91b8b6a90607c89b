/** A new subscription to the events of a process; its secret is shown this once. */
import { useState } from "preact/hooks";
import type { ApiError, NewSubscription, Process } from "../../../client/client.ts";
import { toApiError } from "../../asker.ts";
import { html } from "../../html.ts";
import { Copyable } from "../../parts/copy.ts";
import { Dialog } from "../../parts/dialog.ts";
import { Failed } from "../../parts/states.ts";
import { windhover } from "../../session.ts";

interface SubscribeParts {
  readonly process: Process;
  /** Of what it runs on. */
  readonly name: string;
  onClose(): void;
  onDone(): void;
}

export function Subscribe({ process, name, onClose, onDone }: SubscribeParts) {
  const [error, setError] = useState<ApiError | null>(null);
  const [isBusy, setBusy] = useState(false);
  const [secret, setSecret] = useState<string | null>(null);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    try {
      const body = readSubscription(new FormData(event.currentTarget as HTMLFormElement));
      const made = await windhover.subscribe({ process_uuid: process.uuid, body });
      setSecret(made.secret);
      onDone();
    } catch (fault) {
      setError(toApiError(fault));
    }
    setBusy(false);
  };
  if (secret !== null)
    return html`<${Dialog} key="secret" title="Subscribed" onClose=${onClose}>
      <div class="body"><p>Calls are signed with this secret. It is shown only now.</p><${Copyable} label="secret" text=${secret} /></div>
      <footer><button type="button" class="primary" onClick=${onClose}>Done</button></footer>
    </${Dialog}>`;
  return html`
    <${Dialog} key="form" title=${`Subscribe to ${name}`} onClose=${onClose}>
      <form onSubmit=${submit}>
        <div class="body">
          <label>Address <input name="url" type="url" required placeholder="https://example.com/hook" autofocus /></label>
          <label>Event <select name="event"><option value="new-tracks">Something new is seen (new-tracks)</option><option value="target-count">Their number changes (target-count)</option></select></label>
          <label>Seconds between two calls, at least <input name="seconds" type="number" min="0" max="86400" step="any" defaultValue="5" required /></label>
          <label class="check"><input name="full" type="checkbox" /> With whole entries of the detection message</label>
          <details><summary>The receiver needs a login first</summary>
            <label>Login address <input name="auth" type="url" placeholder="https://user:password@example.com/login" aria-describedby="auth-help" /></label>
            <p class="hint" id="auth-help">It is called with the user and password of this address; the token that it answers goes along with every call.</p>
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
