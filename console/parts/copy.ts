/** An address or a key that one wants elsewhere. */
import { html } from "../html.ts";
import { say } from "./toasts.ts";

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    say("Copied");
  } catch {
    say("This browser does not let pages copy; select the text instead", true);
  }
}

export const Copyable = ({ text, label }: { text: string; label: string }) => html`
  <span class="copyable">
    <code aria-label=${label}>${text}</code>
    <button type="button" class="plain" aria-label=${`Copy ${label}`} onClick=${() => void copy(text)}>Copy</button>
  </span>
`;
