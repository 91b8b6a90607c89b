/** Uploaded videos and streams: added, watched and deleted. */
import { useState } from "preact/hooks";
import type { Source } from "../../../client/client.ts";
import { DemoButton } from "../../components/demo-button.ts";
import { confirm, Dialog } from "../../components/dialog.ts";
import { formatTime } from "../../components/format.ts";
import { More, useList, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { attempt } from "../../components/toasts.ts";
import { html } from "../../html.ts";
import { focusContent, linkTo } from "../../router.ts";
import { base, windhover } from "../../session.ts";
import { AddStream, UploadVideo } from "./add-source.ts";
import { RecordingMode } from "./recording-mode.ts";

const POLL_MS = 2_000;

export function Sources() {
  const { query, showMore } = useList((page, signal) => windhover.listSources(page, { signal }), [], POLL_MS);
  const [open, setOpen] = useState<"upload" | "stream" | Source | null>(null);
  const [recorded, setRecorded] = useState<Source | null>(null);
  const close = () => setOpen(null);
  const finish = () => {
    close();
    query.reload();
  };
  const remove = async (source: Source): Promise<void> => {
    const text = `${source.type === "file" ? "The uploaded file is deleted, too." : "The stream itself is not affected."} Recordings and reports are kept.`;
    if (!(await confirm({ title: `Delete ${source.alias}?`, action: "Delete", text }))) return;
    if (await attempt(() => windhover.deleteSource({ source_id: source.uuid }), `${source.alias} deleted`))
      focusContent();
    query.reload();
  };
  const actions = (source: Source) => html`<div class="row actions">
    <a class="button primary" aria-label=${`Start on ${source.alias}`} href=${`${linkTo("processes", "new")}?source=${source.uuid}`}>Start</a>
    ${
      source.webrtc_url !== undefined
        ? html`<button type="button" aria-label=${`Watch ${source.alias}`} onClick=${() => setOpen(source)}>Watch</button>`
        : source.status === "processing" &&
          html`<a class="button" aria-label=${`Watch ${source.alias}`} href=${`${linkTo("live")}?source=${source.uuid}`}>Watch</a>`
    }
    ${source.webrtc_url !== undefined && html`<button type="button" aria-label=${`Recording of ${source.alias}`} onClick=${() => setRecorded(source)}>Recording</button>`}
    <button type="button" class="plain" aria-label=${`Delete ${source.alias}`} onClick=${() => void remove(source)}>Delete</button>
  </div>`;
  return html`
    <div class="row spread"><h1>Sources</h1><div class="row">
      <button type="button" class="primary" onClick=${() => setOpen("upload")}>Upload a video</button>
      <button type="button" onClick=${() => setOpen("stream")}>Add a stream</button>
    </div></div>
    ${whenLoaded(query, ({ sources, next_cursor: next }) =>
      sources.length === 0
        ? html`<${Empty} title="No sources yet"><p>Upload a video file, or add the address of a camera or a drone stream.</p><${DemoButton} /></${Empty}>`
        : html`<${Table} rows=${sources} columns=${COLUMNS} actions=${actions} /><${More} count=${sources.length} next=${next} onMore=${showMore} />`,
    )}
    ${open === "upload" && html`<${UploadVideo} onClose=${close} onDone=${finish} />`}
    ${open === "stream" && html`<${AddStream} onClose=${close} onDone=${finish} />`}
    ${recorded !== null && html`<${RecordingMode} source=${recorded} onClose=${() => setRecorded(null)} />`}
    ${open !== null && typeof open === "object" && html`<${Player} source=${open} onClose=${close} />`}
  `;
}

/** A source that the service does not monitor is only checked when a process starts: that is not an error. */
const formatStatus = ({ status, type }: Source): string =>
  status !== "unknown" ? status : type === "file" ? "ready" : "on demand";

const COLUMNS: readonly Column<Source>[] = [
  ["Name", ({ alias }) => html`<strong>${alias}</strong>`],
  ["Type", ({ stream_type, loop }) => stream_type?.toUpperCase() ?? (loop ? "File, looped" : "File")],
  ["Address", ({ input_url }) => html`<code>${input_url}</code>`],
  ["Status", (source) => html`<span class="state ${source.status}">${formatStatus(source)}</span>`],
  ["Added", ({ created_at }) => formatTime(created_at)],
];

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
