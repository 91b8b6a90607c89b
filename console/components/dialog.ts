/** Modal dialogs. Escape and the cross close them; the focus returns to the element that had it before. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { html } from "../html.ts";
import { focusContent } from "../router.ts";
import { Copyable } from "./toasts.ts";

interface DialogProps {
  readonly title: string;
  readonly children: ComponentChildren;
  onClose(): void;
}

export function Dialog({ title, onClose, children }: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    // The element may have been removed in the meantime, such as the row of a deleted source.
    return () => (before?.isConnected ? before.focus() : focusContent());
  }, []);
  return html`
    <dialog ref=${ref} aria-label=${title} onClose=${onClose}>
      <header>
        <h2>${title}</h2>
        <button type="button" class="plain" aria-label="Close" onClick=${onClose}>✕</button>
      </header>
      ${children}
    </dialog>
  `;
}

interface ConfirmProps extends DialogProps {
  /** Label of the button. */
  readonly action: string;
  onConfirm(): void;
}

/** Before something is deleted. */
export const Confirm = ({ title, action, onConfirm, onClose, children }: ConfirmProps) => html`
  <${Dialog} title=${title} onClose=${onClose}>
    <div class="body">${children}</div>
    <footer>
      <button type="button" onClick=${onClose}>Cancel</button>
      <button type="button" class="danger" onClick=${onConfirm}>${action}</button>
    </footer>
  </${Dialog}>
`;

/** The secret of a new webhook. */
export const WebhookSecret = ({ secret, onClose }: { secret: string; onClose: () => void }) => html`
  <${Dialog} title="Webhook secret" onClose=${onClose}>
    <div class="body"><p>Requests are signed with this secret. It is shown only once.</p><${Copyable} label="secret" text=${secret} /></div>
    <footer><button type="button" class="primary" onClick=${onClose}>Done</button></footer>
  </${Dialog}>
`;
