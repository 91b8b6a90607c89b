/** Exports a part of the recording as a file: at once, or as a job with progress for boxes, long clips and links to share. */
import { Dialog } from "../../components/dialog.ts";
import { useSubmit } from "../../components/form.ts";
import { Failed } from "../../components/states.ts";
import { html } from "../../html.ts";
import { request } from "../../session.ts";
import type { Span } from "./axis.ts";
import { writeMoment } from "./clock.ts";

interface ExportProps extends Span {
  readonly sourceUuid: string;
  readonly alias: string;
  readonly ofFile: boolean;
  /** Whose boxes are drawn; null: there are none. */
  readonly processUuid: string | null;
  onClose(): void;
}

const pad = (value: number, digits = 2): string => String(value).padStart(digits, "0");

/** For `datetime-local`, in the time zone of the browser. */
function toLocal(ms: number): string {
  const at = new Date(ms);
  const day = `${at.getFullYear()}-${pad(at.getMonth() + 1)}-${pad(at.getDate())}`;
  return `${day}T${pad(at.getHours())}:${pad(at.getMinutes())}:${pad(at.getSeconds())}.${pad(at.getMilliseconds(), 3)}`;
}

const readField = (value: unknown, ofFile: boolean): number =>
  ofFile ? Number(value) * 1000 : new Date(String(value)).getTime();

export function ExportClip({ sourceUuid, alias, ofFile, processUuid, fromMs, toMs, onClose }: ExportProps) {
  const form = useSubmit(async (data) => {
    const [from, to] = [data.get("from"), data.get("to")].map((value) => readField(value, ofFile));
    if (!(from !== undefined && to !== undefined && to > from)) throw new Error("the end must be after the start");
    const query = new URLSearchParams({ from: writeMoment(from, ofFile), to: writeMoment(to, ofFile) });
    if (data.get("boxes") !== null) query.set("boxes", "true");
    await save(`/source/${sourceUuid}/clip?${query}`, `${alias}.mp4`);
    onClose();
  });
  const { error, isBusy, submit } = form;
  const field = (name: string, label: string, ms: number) =>
    ofFile
      ? html`<label>${label} (s) <input name=${name} type="number" min="0" step="any" required defaultValue=${String(ms / 1000)} /></label>`
      : html`<label>${label} <input name=${name} type="datetime-local" step="0.001" required defaultValue=${toLocal(ms)} /></label>`;
  return html`
    <${Dialog} title="Export a clip" onClose=${onClose}>
      <form onSubmit=${submit}>
        <div class="body">
          <div class="two">${field("from", "From", fromMs)}${field("to", "To", toMs)}</div>
          ${processUuid !== null && html`<label class="check"><input type="checkbox" name="boxes" /> Draw the detections into the video</label>`}
          ${error !== null && html`<${Failed} error=${error} />`}
        </div>
        <footer><button type="button" onClick=${onClose}>Cancel</button><button class="primary" disabled=${isBusy}>${isBusy ? "Exporting…" : "Download"}</button></footer>
      </form>
    </${Dialog}>
  `;
}

/** By a request with the key in its header: addresses end up in histories and logs. */
async function save(path: string, name: string): Promise<void> {
  const response = await request(path);
  const stated = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  const url = URL.createObjectURL(await response.blob());
  const link = document.createElement("a");
  link.href = url;
  link.download = stated ?? name;
  link.click();
  URL.revokeObjectURL(url);
}
