/** Short words about what was done, said to screen readers too; errors stay until they are closed. */
import { signal } from "@preact/signals";
import { toApiError } from "../asker.ts";
import { html } from "../html.ts";
import { toSentence } from "./format.ts";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isError: boolean;
}

const MOST = 4;
const SHOWN_MS = 4_000;
const toasts = signal<readonly Toast[]>([]);
let last = 0;

const close = (id: number): void => {
  toasts.value = toasts.value.filter((toast) => toast.id !== id);
};

export function say(text: string, isError = false): void {
  const id = ++last;
  toasts.value = [...toasts.value, { id, text, isError }].slice(-MOST);
  if (!isError) setTimeout(() => close(id), SHOWN_MS);
}

/** Does it, and says how it went. True: well. */
export async function attempt(work: () => Promise<unknown>, done?: string): Promise<boolean> {
  try {
    await work();
    if (done !== undefined) say(done);
    return true;
  } catch (error) {
    say(toSentence(toApiError(error).message), true);
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
