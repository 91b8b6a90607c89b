/** Short messages about actions, also announced to screen readers. Errors stay until they are closed. */
import { signal } from "@preact/signals";
import { html } from "../html.ts";
import { toApiError } from "../poller.ts";
import { toSentence } from "./format.ts";

const MAX_TOASTS = 4;
const SHOWN_MS = 4_000;
const toasts = signal<readonly { id: number; text: string; isError: boolean }[]>([]);
let last = 0;

const close = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

export function showToast(text: string, isError = false): void {
  const id = ++last;
  toasts.value = [...toasts.value, { id, text, isError }].slice(-MAX_TOASTS);
  if (!isError) setTimeout(() => close(id), SHOWN_MS);
}

/** Runs an action and shows the outcome. Returns whether it succeeded. */
export async function attempt(action: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await action();
    if (done !== undefined) showToast(done);
    return true;
  } catch (error) {
    showToast(toSentence(toApiError(error).message), true);
    return false;
  }
}

export const Toasts = () => html`
  <div class="toasts" role="status" aria-live="polite">
    ${toasts.value.map(
      ({ id, text, isError }) => html`
        <div key=${id} class=${isError ? "toast bad" : "toast"}>
          <span>${text}</span>
          <button type="button" class="plain" aria-label="Close" onClick=${() => close(id)}>✕</button>
        </div>
      `,
    )}
  </div>
`;

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast("Copied");
  } catch {
    showToast("This browser does not allow copying. Select the text instead.", true);
  }
}

export const Copyable = ({ text, label }: { text: string; label: string }) => html`
  <span class="copyable">
    <code aria-label=${label}>${text}</code>
    <button type="button" class="plain" aria-label=${`Copy ${label}`} onClick=${() => void copy(text)}>Copy</button>
  </span>
`;
