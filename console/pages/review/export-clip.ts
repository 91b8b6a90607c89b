/** Exports a part of the video as a file: at once, or as a job with progress for long clips, boxes, and links to share. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Clip, NewClip } from "../../../client/client.ts";
import { Dialog } from "../../components/dialog.ts";
import { useSubmit } from "../../components/form.ts";
import { Failed } from "../../components/states.ts";
import { Copyable } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { request, windhover } from "../../session.ts";
import type { Span } from "./axis.ts";
import { writeMoment } from "./clock.ts";

/** Longer clips are jobs of the service. */
const DIRECT_MS = { plain: 120_000, boxes: 10_000 };
const POLL_MS = 700;

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

export function ExportClip(props: ExportProps) {
  const { sourceUuid, alias, ofFile, processUuid, fromMs, toMs, onClose } = props;
  const [job, setJob] = useState<Clip | null>(null);
  const closing = useRef(new AbortController()).current;
  useEffect(() => () => closing.abort(), []);
  const { error, isBusy, submit } = useSubmit(async (data) => {
    const [from = 0, to = 0] = [data.get("from"), data.get("to")].map((value) => readField(value, ofFile));
    if (!(to > from)) throw new Error("the end must be after the start");
    const [hasBoxes, isShared] = [data.get("boxes") !== null, data.get("shared") !== null];
    const isShort = to - from <= (hasBoxes ? DIRECT_MS.boxes : DIRECT_MS.plain);
    if (isShort && !isShared) {
      const query = new URLSearchParams({ from: writeMoment(from, ofFile), to: writeMoment(to, ofFile) });
      if (hasBoxes) query.set("boxes", "true");
      await save(`/source/${sourceUuid}/clip?${query}`, `${alias}.mp4`, closing.signal);
      return onClose();
    }
    const write = (ms: number) => (ofFile ? ms / 1000 : writeMoment(ms, false));
    const ready = await runJob(
      {
        source_uuid: sourceUuid,
        from: write(from),
        to: write(to),
        boxes: hasBoxes,
        ...(hasBoxes && { process_uuid: processUuid }),
      },
      closing.signal,
      setJob,
    );
    if (!isShared && ready.download_url !== null) {
      open(ready.download_url);
      onClose();
    }
  });
  const field = (name: string, label: string, ms: number) =>
    ofFile
      ? html`<label>${label} (s) <input name=${name} type="number" min="0" step="any" required defaultValue=${String(ms / 1000)} /></label>`
      : html`<label>${label} <input name=${name} type="datetime-local" step="0.001" required defaultValue=${toLocal(ms)} /></label>`;
  const link = job?.state === "ready" ? job.download_url : null;
  return html`
    <${Dialog} title="Export a clip" onClose=${onClose}>
      <form onSubmit=${submit}>
        <div class="body">
          <div class="two">${field("from", "From", fromMs)}${field("to", "To", toMs)}</div>
          ${processUuid !== null && html`<label class="check"><input type="checkbox" name="boxes" /> Draw the detections into the video</label>`}
          <label class="check"><input type="checkbox" name="shared" /> Create a link that works without a key</label>
          ${job !== null && link === null && html`<${Progress} job=${job} />`}
          ${link !== null && html`<div role="status"><p class="hint">Everybody with this link can download the clip, for a limited time.</p><${Copyable} label="link" text=${link} /></div>`}
          ${error !== null && html`<${Failed} error=${error} />`}
        </div>
        <footer>
          <button type="button" onClick=${onClose}>${link === null ? "Cancel" : "Done"}</button>
          ${link === null ? html`<button class="primary" disabled=${isBusy}>${isBusy ? "Exporting…" : "Export"}</button>` : html`<a class="button primary" href=${link} download>Download</a>`}
        </footer>
      </form>
    </${Dialog}>
  `;
}

const Progress = ({ job: { state, progress } }: { job: Clip }) => html`
  <label>${state === "queued" ? "Queued" : "Rendering"}<progress max="1" value=${progress}></progress></label>
`;

/** Resolves when the clip is ready. A clip that is not awaited any longer is deleted. */
async function runJob(body: NewClip, signal: AbortSignal, onChange: (job: Clip) => void): Promise<Clip> {
  let job = await windhover.renderClip({ body }, { signal });
  try {
    for (onChange(job); job.state === "queued" || job.state === "rendering"; onChange(job)) {
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      job = await windhover.readClip({ clip_uuid: job.uuid }, { signal });
    }
  } catch (error) {
    if (signal.aborted) await windhover.deleteClip({ clip_uuid: job.uuid }).catch(() => {});
    throw error;
  }
  if (job.state === "failed") throw new Error(job.error ?? "the clip could not be rendered");
  return job;
}

/** By a request with the key in its header: addresses end up in histories and logs. */
async function save(path: string, name: string, signal: AbortSignal): Promise<void> {
  const response = await request(path, signal);
  const stated = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition") ?? "")?.[1];
  const url = URL.createObjectURL(await response.blob());
  open(url, stated ?? name);
  URL.revokeObjectURL(url);
}

function open(url: string, name = ""): void {
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
}
