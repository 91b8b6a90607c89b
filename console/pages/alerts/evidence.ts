/** What is kept of each notice of an alert: a snapshot, a clip. */
import { Input } from "../../components/form.ts";
import { html } from "../../html.ts";
import type { EvidenceDraft } from "./setting-drafts.ts";

interface EvidenceProps {
  readonly draft: EvidenceDraft;
  onChange(draft: EvidenceDraft): void;
}

export function EvidenceFields({ draft, onChange }: EvidenceProps) {
  const { hasSnapshot, hasClip, before, after, hasBoxes } = draft;
  const check = (label: string, name: keyof EvidenceDraft, isChecked: boolean) =>
    html`<label class="check"><input type="checkbox" checked=${isChecked} onChange=${() => onChange({ ...draft, [name]: !isChecked })} /> ${label}</label>`;
  const seconds = (label: string, name: "before" | "after", value: string, max: number) =>
    html`<${Input} label=${label} path=${`/evidence/clip/${name}_seconds`} type="number" min="0" max=${max} step="any" required value=${value} onValue=${(next: string) => onChange({ ...draft, [name]: next })} />`;
  return html`
    <section class="card stack">
      <h2>Evidence</h2>
      ${check("Keep a snapshot of the frame", "hasSnapshot", hasSnapshot)}
      ${check("Keep a clip", "hasClip", hasClip)}
      ${
        hasClip &&
        html`
          <div class="part stack">
            <div class="pair">${seconds("Before (s)", "before", before, 60)}${seconds("After (s)", "after", after, 300)}</div>
            ${check("Draw the boxes of the detections", "hasBoxes", hasBoxes)}
            <p class="hint">Cut out of the recording, the last seconds of a stream that is not recorded, or the file. There are no clips of cameras that the service pulls.</p>
          </div>
        `
      }
    </section>
  `;
}
