import { useState } from "preact/hooks";
import { toApiError } from "./asker.ts";
import { html } from "./html.ts";
import { farewell, signIn } from "./session.ts";

export function SignIn() {
  const [fault, setFault] = useState(farewell.value);
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    setBusy(true);
    setFault(null);
    try {
      await signIn(String(form.get("key")).trim(), form.get("kept") !== null);
    } catch (error) {
      setFault(toApiError(error).message);
      setBusy(false);
    }
  };
  return html`
    <main class="sign-in" tabindex="-1">
      <form onSubmit=${submit}>
        <img src="console/assets/icon.svg" alt="" width="56" height="56" />
        <h1>Windhover</h1>
        <div class="unseen" aria-hidden="true"><input name="username" value="windhover" autocomplete="username" readonly tabindex="-1" /></div>
        <label>API key
          <input name="key" type="password" required autocomplete="current-password" autofocus spellcheck="false"
            aria-describedby="key-help" />
        </label>
        <p id="key-help" class="hint">The first start of the service printed one; <code>npx windhover keys create</code> makes more.</p>
        <label class="check"><input name="kept" type="checkbox" /> Stay signed in on this computer</label>
        ${fault !== null && html`<p class="failed" role="alert">${fault}</p>`}
        <button class="primary" disabled=${isBusy}>${isBusy ? "Signing in…" : "Sign in"}</button>
      </form>
    </main>
  `;
}
