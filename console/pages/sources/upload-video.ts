import { useRef, useState } from "preact/hooks";
import type { ApiError } from "../../../client/client.ts";
import { toApiError } from "../../asker.ts";
import { html } from "../../html.ts";
import { Dialog } from "../../parts/dialog.ts";
import { formatBytes } from "../../parts/format.ts";
import { Failed } from "../../parts/states.ts";
import { say } from "../../parts/toasts.ts";
import { type Upload, uploadVideo } from "../../upload.ts";

export function UploadVideo({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const [share, setShare] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [file, setFile] = useState<File | null>(null);
  const upload = useRef<Upload | null>(null);
  const send = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    const alias = String(new FormData(event.currentTarget as HTMLFormElement).get("alias")).trim();
    if (file === null) return;
    setError(null);
    setShare(0);
    upload.current = uploadVideo(file, alias, setShare);
    try {
      const source = await upload.current.done;
      say(`${source.alias} is there`);
      onDone();
    } catch (fault) {
      setShare(null);
      setError(toApiError(fault));
    }
  };
  const close = () => {
    upload.current?.cancel();
    onClose();
  };
  return html`
    <${Dialog} title="Upload a video" onClose=${close}>
      <form onSubmit=${send}>
        <div class="body">
          <label>File
            <input type="file" required accept=".mp4,.mov,.avi,video/mp4,video/quicktime,video/x-msvideo" disabled=${share !== null}
              onChange=${(event: Event) => setFile((event.currentTarget as HTMLInputElement).files?.[0] ?? null)} />
          </label>
          <p class="hint">mp4, mov or avi${file === null ? "" : ` · ${formatBytes(file.size)}`}</p>
          <label>Name <input name="alias" maxlength="255" placeholder=${file?.name ?? "the name of the file"} disabled=${share !== null} /></label>
          ${share !== null && html`<${Progress} share=${share} />`}
          ${error !== null && html`<${Failed} error=${error} />`}
        </div>
        <footer>
          <button type="button" onClick=${close}>Cancel</button>
          <button class="primary" disabled=${share !== null || file === null}>Upload</button>
        </footer>
      </form>
    </${Dialog}>
  `;
}

/** When all has been sent, the service looks whether it is a video. */
const Progress = ({ share }: { share: number }) => html`
  <div>
    <progress max="1" value=${share < 1 ? share : undefined} aria-label="Upload"></progress>
    <p class="hint" role="status">${share < 1 ? `${Math.floor(share * 100)} %` : "Looking at the video…"}</p>
  </div>
`;
