import { useState } from "preact/hooks";
import type { Source } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { DemoButton } from "../../parts/demo-button.ts";
import { Confirm } from "../../parts/dialog.ts";
import { formatTime } from "../../parts/format.ts";
import { More, useListing } from "../../parts/listing.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { attempt } from "../../parts/toasts.ts";
import { addressOf, focusContent } from "../../router.ts";
import { windhover } from "../../session.ts";
import { AddStream } from "./add-stream.ts";
import { Player } from "./player.ts";
import { UploadVideo } from "./upload-video.ts";

const EVERY_MS = 2_000;

type Opened =
  | { readonly kind: "upload" | "stream" }
  | { readonly kind: "delete" | "play"; readonly source: Source }
  | null;

export function Sources() {
  const { asked, reload, showMore } = useListing(
    (page, signal) => windhover.listSources(page, { signal }),
    [],
    EVERY_MS,
  );
  const [opened, setOpened] = useState<Opened>(null);
  const close = () => setOpened(null);
  const finish = () => {
    close();
    reload();
  };
  const remove = async (source: Source): Promise<void> => {
    close();
    if (await attempt(() => windhover.deleteSource({ source_id: source.uuid }), `${source.alias} is gone`))
      focusContent();
    reload();
  };
  const buttons = html`
    <button type="button" class="primary" onClick=${() => setOpened({ kind: "upload" })}>Upload a video</button>
    <button type="button" onClick=${() => setOpened({ kind: "stream" })}>Add a stream</button>
  `;
  return html`
    <div class="row spread"><h1>Sources</h1><div class="row">${buttons}</div></div>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ sources, next_cursor: next }: { sources: readonly Source[]; next_cursor?: string }) =>
        sources.length === 0
          ? html`<${Empty} title="No sources yet"><p>Upload a video file, or add the address of a camera or a drone's stream.</p><${DemoButton} /></${Empty}>`
          : html`<${Table} sources=${sources} onOpen=${setOpened} /><${More} count=${sources.length} next=${next} onMore=${showMore} />`}
    </${Shown}>
    ${opened?.kind === "upload" && html`<${UploadVideo} onClose=${close} onDone=${finish} />`}
    ${opened?.kind === "stream" && html`<${AddStream} onClose=${close} onDone=${finish} />`}
    ${opened?.kind === "play" && html`<${Player} source=${opened.source} onClose=${close} />`}
    ${
      opened?.kind === "delete" &&
      html`<${Confirm} title=${`Delete ${opened.source.alias}?`} action="Delete" onClose=${close} onConfirm=${() => void remove(opened.source)}>
        <p>${opened.source.type === "file" ? "The uploaded file goes with it." : "The stream itself is not touched."} Recordings and reports stay.</p>
      </${Confirm}>`
    }
  `;
}

/** Of what the service does not watch before a process asks for it, nothing is known: no trouble, and not to look like one. */
const tellStatus = ({ status, type }: Source): string =>
  status !== "unknown" ? status : type === "file" ? "ready" : "on demand";

const Table = ({ sources, onOpen }: { sources: readonly Source[]; onOpen: (opened: Opened) => void }) => html`
  <table class="cards">
    <thead><tr><th>Name</th><th>Kind</th><th>Address</th><th>Status</th><th>Added</th><th><span class="unseen">What to do</span></th></tr></thead>
    <tbody>
      ${sources.map(
        (source) => html`
          <tr key=${source.uuid}>
            <td><strong>${source.alias}</strong></td>
            <td data-name="Kind">${source.stream_type?.toUpperCase() ?? "File"}</td>
            <td data-name="Address"><code>${source.input_url}</code></td>
            <td data-name="Status"><span class="state ${source.status}">${tellStatus(source)}</span></td>
            <td data-name="Added">${formatTime(source.created_at)}</td>
            <td>
              <div class="row actions">
                <a class="button primary" aria-label=${`Start on ${source.alias}`}
                  href=${`${addressOf("processes", "new")}?source=${source.uuid}`}>Start</a>
                ${source.webrtc_url !== undefined && html`<button type="button" aria-label=${`Watch ${source.alias}`} onClick=${() => onOpen({ kind: "play", source })}>Watch</button>`}
                <button type="button" class="plain" aria-label=${`Delete ${source.alias}`} onClick=${() => onOpen({ kind: "delete", source })}>Delete</button>
              </div>
            </td>
          </tr>
        `,
      )}
    </tbody>
  </table>
`;
