/** Recordings of streams that were published to the service: played and downloaded. */
import { useState } from "preact/hooks";
import type { Recording } from "../../../client/client.ts";
import { Dialog } from "../../components/dialog.ts";
import { formatBytes, formatDuration, formatTime } from "../../components/format.ts";
import { Loaded, More, useList } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";

const POLL_MS = 5_000;

export function Recordings() {
  const { query, showMore } = useList((page, signal) => windhover.listRecordings(page, { signal }), [], POLL_MS);
  const [playing, setPlaying] = useState<Recording | null>(null);
  return html`
    <h1>Recordings</h1>
    <${Loaded} query=${query}>
      ${({ recordings, next_cursor: next }: { recordings: readonly Recording[]; next_cursor?: string }) =>
        recordings.length === 0
          ? html`<${Empty} title="No recordings yet"><p>Streams that cameras and encoders publish to this service are recorded. The demo is not.</p></${Empty}>`
          : html`<${Table} recordings=${recordings} onPlay=${setPlaying} /><${More} count=${recordings.length} next=${next} onMore=${showMore} />`}
    </${Loaded}>
    ${playing !== null && html`<${Player} recording=${playing} onClose=${() => setPlaying(null)} />`}
  `;
}

const Table = ({ recordings, onPlay }: { recordings: readonly Recording[]; onPlay: (one: Recording) => void }) => html`
  <table class="cards">
    <thead><tr><th>Source</th><th>From</th><th>To</th><th>Duration</th><th>Size</th><th><span class="unseen">Actions</span></th></tr></thead>
    <tbody>
      ${recordings.map(
        (recording) => html`
          <tr key=${recording.uuid}>
            <td><strong>${recording.alias}</strong>${recording.detail !== null && html`<p class="hint">${recording.detail}</p>`}</td>
            <td data-name="From">${formatTime(recording.started_at)}</td>
            <td data-name="To">${recording.stopped_at === null ? html`<span class="state live">recording</span>` : formatTime(recording.stopped_at)}</td>
            <td data-name="Duration">${formatDuration(recording.duration_seconds)}</td>
            <td data-name="Size">${formatBytes(recording.size_bytes)}</td>
            <td><div class="row">
              ${recording.segments.length > 0 && html`<button type="button" aria-label=${`Play ${recording.alias}`} onClick=${() => onPlay(recording)}>Play</button>`}
              ${recording.segments.map((segment) => html`<a key=${segment.index} class="button" href=${segment.download_url} download>Download${recording.segments.length > 1 ? ` ${segment.index + 1}` : ""}</a>`)}
            </div></td>
          </tr>
        `,
      )}
    </tbody>
  </table>
`;

/** Plays the files one after the other. */
function Player({ recording, onClose }: { recording: Recording; onClose: () => void }) {
  const [index, setIndex] = useState(0);
  const [hasFailed, setFailed] = useState(false);
  const segment = recording.segments[index];
  if (segment === undefined) return null;
  const last = recording.segments.length - 1;
  return html`
    <${Dialog} title=${recording.alias} onClose=${onClose}>
      <div class="body">
        <video key=${index} class="player" controls autoplay muted src=${segment.download_url} onEnded=${() => index < last && setIndex(index + 1)} onError=${() => setFailed(true)}></video>
        ${hasFailed && html`<p class="failed" role="alert">This browser cannot play the file. Download it instead.</p>`}
        <p class="hint">${formatTime(segment.started_at)} · ${formatDuration(segment.duration_seconds)}</p>
        ${
          last > 0 &&
          html`<div class="row" role="group" aria-label="Part">${recording.segments.map(
            (one, i) =>
              html`<button key=${one.index} type="button" aria-pressed=${i === index} onClick=${() => setIndex(i)}>${i + 1}</button>`,
          )}</div>`
        }
      </div>
      <footer><button type="button" onClick=${onClose}>Close</button></footer>
    </${Dialog}>
  `;
}
