/** The live picture of a media-server source, by the players that come with the service. */
import { useState } from "preact/hooks";
import type { Source } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { Dialog } from "../../parts/dialog.ts";
import { base } from "../../session.ts";

/** Its page has the rights that are in its own address. */
function pageOf(source: Source, kind: "webrtc" | "hls"): string {
  const address = kind === "webrtc" ? source.webrtc_url : source.hls_url;
  const token = new URL(address ?? "", window.location.href).searchParams.get("token") ?? "";
  return `${base}/source/${source.uuid}/${kind}?token=${encodeURIComponent(token)}`;
}

export function Player({ source, onClose }: { source: Source; onClose: () => void }) {
  const [kind, setKind] = useState<"webrtc" | "hls">("webrtc");
  // Addresses are signed anew with every listing: the one that was opened is good for long enough.
  const [pages] = useState({ webrtc: pageOf(source, "webrtc"), hls: pageOf(source, "hls") });
  return html`
    <${Dialog} title=${source.alias} onClose=${onClose}>
      <div class="body">
        <iframe class="player" title=${`Live picture of ${source.alias}`} src=${pages[kind]} allow="autoplay; fullscreen"></iframe>
        <div class="row" role="group" aria-label="How it is played">
          <button type="button" aria-pressed=${kind === "webrtc"} onClick=${() => setKind("webrtc")}>WebRTC</button>
          <button type="button" aria-pressed=${kind === "hls"} onClick=${() => setKind("hls")}>HLS</button>
        </div>
      </div>
      <footer><button type="button" onClick=${onClose}>Close</button></footer>
    </${Dialog}>
  `;
}
