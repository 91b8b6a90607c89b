/** Uploaded videos and streams: added, watched and deleted. */
import { useState } from "preact/hooks";
import type { Source } from "../../../client/client.ts";
import { DemoButton } from "../../components/demo-button.ts";
import { Confirm, Dialog } from "../../components/dialog.ts";
import { formatTime } from "../../components/format.ts";
import { Loaded, More, useList } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { attempt } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { focusContent, linkTo } from "../../router.ts";
import { base, windhover } from "../../session.ts";
import { AddStream, UploadVideo } from "./add-source.ts";

const POLL_MS = 2_000;

type OpenDialog =
  | { readonly kind: "upload" | "stream" }
  | { readonly kind: "delete" | "watch"; readonly source: Source }
  | null;

export function Sources() {
  const { query, showMore } = useList((page, signal) => windhover.listSources(page, { signal }), [], POLL_MS);
  const [open, setOpen] = useState<OpenDialog>(null);
  const close = () => setOpen(null);
  const finish = () => {
    close();
    query.reload();
  };
  const remove = async (source: Source): Promise<void> => {
    close();
    if (await attempt(() => windhover.deleteSource({ source_id: source.uuid }), `${source.alias} deleted`))
      focusContent();
    query.reload();
  };
  return html`
    <div class="row spread"><h1>Sources</h1><div class="row">
      <button type="button" class="primary" onClick=${() => setOpen({ kind: "upload" })}>Upload a video</button>
      <button type="button" onClick=${() => setOpen({ kind: "stream" })}>Add a stream</button>
    </div></div>
    <${Loaded} query=${query}>
      ${({ sources, next_cursor: next }: { sources: readonly Source[]; next_cursor?: string }) =>
        sources.length === 0
          ? html`<${Empty} title="No sources yet"><p>Upload a video file, or add the address of a camera or a drone stream.</p><${DemoButton} /></${Empty}>`
          : html`<${Table} sources=${sources} onOpen=${setOpen} /><${More} count=${sources.length} next=${next} onMore=${showMore} />`}
    </${Loaded}>
    ${open?.kind === "upload" && html`<${UploadVideo} onClose=${close} onDone=${finish} />`}
    ${open?.kind === "stream" && html`<${AddStream} onClose=${close} onDone=${finish} />`}
    ${open?.kind === "watch" && html`<${Player} source=${open.source} onClose=${close} />`}
    ${
      open?.kind === "delete" &&
      html`<${Confirm} title=${`Delete ${open.source.alias}?`} action="Delete" onClose=${close} onConfirm=${() => void remove(open.source)}>
        <p>${open.source.type === "file" ? "The uploaded file is deleted, too." : "The stream itself is not affected."} Recordings and reports are kept.</p>
      </${Confirm}>`
    }
  `;
}

/** A source that the service does not monitor is only checked when a process starts: that is not an error. */
const formatStatus = ({ status, type }: Source): string =>
  status !== "unknown" ? status : type === "file" ? "ready" : "on demand";

const Table = ({ sources, onOpen }: { sources: readonly Source[]; onOpen: (dialog: OpenDialog) => void }) => html`
  <table class="cards">
    <thead><tr><th>Name</th><th>Type</th><th>Address</th><th>Status</th><th>Added</th><th><span class="unseen">Actions</span></th></tr></thead>
    <tbody>
      ${sources.map(
        (source) => html`
          <tr key=${source.uuid}>
            <td><strong>${source.alias}</strong></td>
            <td data-name="Type">${source.stream_type?.toUpperCase() ?? "File"}</td>
            <td data-name="Address"><code>${source.input_url}</code></td>
            <td data-name="Status"><span class="state ${source.status}">${formatStatus(source)}</span></td>
            <td data-name="Added">${formatTime(source.created_at)}</td>
            <td>
              <div class="row actions">
                <a class="button primary" aria-label=${`Start on ${source.alias}`}
                  href=${`${linkTo("processes", "new")}?source=${source.uuid}`}>Start</a>
                ${source.webrtc_url !== undefined && html`<button type="button" aria-label=${`Watch ${source.alias}`} onClick=${() => onOpen({ kind: "watch", source })}>Watch</button>`}
                <button type="button" class="plain" aria-label=${`Delete ${source.alias}`} onClick=${() => onOpen({ kind: "delete", source })}>Delete</button>
              </div>
            </td>
          </tr>
        `,
      )}
    </tbody>
  </table>
`;

/** The service's own player page. It is authorized by the token in its address. */
function playerUrl(source: Source, protocol: "webrtc" | "hls"): string {
  const address = protocol === "webrtc" ? source.webrtc_url : source.hls_url;
  const token = new URL(address ?? "", window.location.href).searchParams.get("token") ?? "";
  return `${base}/source/${source.uuid}/${protocol}?token=${encodeURIComponent(token)}`;
}

function Player({ source, onClose }: { source: Source; onClose: () => void }) {
  const [protocol, setProtocol] = useState<"webrtc" | "hls">("webrtc");
  // Addresses are signed again with every response. The first ones stay, so that playback is not interrupted.
  const [urls] = useState({ webrtc: playerUrl(source, "webrtc"), hls: playerUrl(source, "hls") });
  return html`
    <${Dialog} title=${source.alias} onClose=${onClose}>
      <div class="body">
        <iframe class="player" title=${`Live video of ${source.alias}`} src=${urls[protocol]} allow="autoplay; fullscreen"></iframe>
        <div class="row" role="group" aria-label="Protocol">
          <button type="button" aria-pressed=${protocol === "webrtc"} onClick=${() => setProtocol("webrtc")}>WebRTC</button>
          <button type="button" aria-pressed=${protocol === "hls"} onClick=${() => setProtocol("hls")}>HLS</button>
        </div>
      </div>
      <footer><button type="button" onClick=${onClose}>Close</button></footer>
    </${Dialog}>
  `;
}
