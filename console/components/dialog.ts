/** Modal dialogs. Escape and the cross close them; the focus returns to the element that had it before. */
import { signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { html, type Markup } from "../html.ts";
import { focusContent, route } from "../router.ts";
import { Faults, type useSubmit } from "./form.ts";
import { Failed } from "./states.ts";
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

interface FormDialogProps extends DialogProps, Omit<ReturnType<typeof useSubmit>, "clearError"> {
  /** Label of the button. */
  readonly action: string;
}

/** A form with its fields, the error of its last submission, and its buttons. */
export const FormDialog = ({ title, action, children, error, isBusy, submit, onClose }: FormDialogProps) => html`
  <${Dialog} title=${title} onClose=${onClose}>
    <form onSubmit=${submit}>
      <div class="body"><${Faults.Provider} value=${error?.errors ?? []}>${children}</${Faults.Provider}>${error !== null && html`<${Failed} error=${error} />`}</div>
      <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary" disabled=${isBusy}>${action}</button></footer>
    </form>
  </${Dialog}>
`;

interface Question {
  readonly title: string;
  readonly text: Markup;
  /** Label of the button. */
  readonly action: string;
  answer(isConfirmed: boolean): void;
}

const question = signal<Question | null>(null);

/** Asks before something is deleted. */
export const confirm = (asked: Omit<Question, "answer">): Promise<boolean> =>
  new Promise((resolve) => {
    const answer = (isConfirmed: boolean): void => {
      question.value = null;
      resolve(isConfirmed);
    };
    question.value = { ...asked, answer };
  });

export const Confirmation = () => {
  const { value: here } = route;
  // Leaving the page cancels.
  useEffect(() => () => question.value?.answer(false), [here]);
  if (question.value === null) return null;
  const { title, text, action, answer } = question.value;
  return html`
    <${Dialog} title=${title} onClose=${() => answer(false)}>
      <div class="body"><p>${text}</p></div>
      <footer>
        <button type="button" onClick=${() => answer(false)}>Cancel</button>
        <button type="button" class="danger" onClick=${() => answer(true)}>${action}</button>
      </footer>
    </${Dialog}>
  `;
};

/** The secret of a new webhook. */
export const WebhookSecret = ({ secret, onClose }: { secret: string; onClose: () => void }) => html`
  <${Dialog} title="Webhook secret" onClose=${onClose}>
    <div class="body"><p>Requests are signed with this secret. It is shown only once.</p><${Copyable} label="secret" text=${secret} /></div>
    <footer><button type="button" class="primary" onClick=${onClose}>Done</button></footer>
  </${Dialog}>
`;
