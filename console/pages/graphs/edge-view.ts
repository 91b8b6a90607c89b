/** What passes an edge of a running graph: the picture and the metadata of a frame, again and again while it is open. */
import type { ProcessGraphEdge } from "../../../client/client.ts";
import { Dialog } from "../../components/dialog.ts";
import { toSentence } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";

export interface Edge {
  readonly from: string;
  readonly to: string;
}

interface EdgeProps {
  readonly uuid: string;
  readonly edge: Edge;
  onClose(): void;
}

const POLL_MS = 500;

export function EdgeView({ uuid, edge: { from, to }, onClose }: EdgeProps) {
  const query = useQuery(
    (signal) => windhover.getProcessGraphEdge({ process_uuid: uuid, from, to }, { signal }),
    [uuid, from, to],
    POLL_MS,
  );
  return html`
    <${Dialog} title=${`From ${from} to ${to}`} onClose=${onClose}>
      <div class="body edge">${whenLoaded(query, (seen) => html`<${Frame} ...${seen} />`)}</div>
    </${Dialog}>
  `;
}

const Frame = ({ frame, detail }: ProcessGraphEdge) => html`
  ${frame?.picture != null && html`<img src=${`data:image/jpeg;base64,${frame.picture}`} alt="The frame" />`}
  ${detail !== null && html`<p class="hint" role="status">${toSentence(detail)}</p>`}
  ${
    frame !== null &&
    html`
      <dl class="facts">
        <dt>Time</dt><dd>${frame.pts_ms === null ? "none" : `${(frame.pts_ms / 1000).toFixed(3)} s`}</dd>
        <dt>Size</dt><dd>${frame.bytes} bytes</dd>
        <dt>Caps</dt><dd><code>${frame.caps}</code></dd>
      </dl>
      <h3>Metadata</h3>
      ${Object.keys(frame.metadata).length === 0 ? html`<p class="hint">None.</p>` : html`<pre class="card scroll" tabindex="0" aria-label="Metadata">${JSON.stringify(frame.metadata, null, 2)}</pre>`}
    `
  }
`;
