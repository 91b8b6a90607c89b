/** A question or a form over the page. Escape and the cross close it; the focus comes back to where it was. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { html } from "../html.ts";
import { focusContent } from "../router.ts";

export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    ref.current?.showModal();
    // What was there before may be gone by now, such as the row of something that was deleted.
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

/** Before something is lost. */
export const Confirm = ({
  title,
  action,
  onConfirm,
  onClose,
  children,
}: {
  title: string;
  action: string;
  onConfirm: () => void;
  onClose: () => void;
  children?: ComponentChildren;
}) => html`
  <${Dialog} title=${title} onClose=${onClose}>
    <div class="body">${children}</div>
    <footer>
      <button type="button" onClick=${onClose}>Cancel</button>
      <button type="button" class="danger" onClick=${onConfirm}>${action}</button>
    </footer>
  </${Dialog}>
`;
