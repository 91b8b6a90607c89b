/** What was published to media-server sources: to play here, and to take away. */
import { useState } from "preact/hooks";
import type { Recording } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { Dialog } from "../../parts/dialog.ts";
import { formatBytes, formatSpan, formatTime } from "../../parts/format.ts";
import { More, useListing } from "../../parts/listing.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { windhover } from "../../session.ts";

const EVERY_MS = 5_000;

export function Recordings() {
  const { asked, reload, showMore } = useListing(
    (page, signal) => windhover.listRecordings(page, { signal }),
    [],
    EVERY_MS,
  );
  const [played, setPlayed] = useState<Recording | null>(null);
  return html`
    <h1>Recordings</h1>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ recordings, next_cursor: next }: { recordings: readonly Recording[]; next_cursor?: string }) =>
        recordings.length === 0
          ? html`<${Empty} title="Nothing was recorded"><p>Streams that cameras and encoders push to this service are recorded while they last; the demo is not.</p></${Empty}>`
          : html`<${Table} recordings=${recordings} onPlay=${setPlayed} /><${More} count=${recordings.length} next=${next} onMore=${showMore} />`}
    </${Shown}>
    ${played !== null && html`<${Playing} recording=${played} onClose=${() => setPlayed(null)} />`}
  `;
}

const Table = ({ recordings, onPlay }: { recordings: readonly Recording[]; onPlay: (one: Recording) => void }) => html`
  <table class="cards">
    <thead><tr><th>Source</th><th>From</th><th>To</th><th>Length</th><th>Size</th><th><span class="unseen">What to do</span></th></tr></thead>
    <tbody>
      ${recordings.map(
        (recording) => html`
          <tr key=${recording.uuid}>
            <td><strong>${recording.alias}</strong>${recording.detail !== null && html`<p class="hint">${recording.detail}</p>`}</td>
            <td data-name="From">${formatTime(recording.started_at)}</td>
            <td data-name="To">${recording.stopped_at === null ? html`<span class="state live">goes on</span>` : formatTime(recording.stopped_at)}</td>
            <td data-name="Length">${formatSpan(recording.duration_seconds)}</td>
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

/** One file after the other. */
function Playing({ recording, onClose }: { recording: Recording; onClose: () => void }) {
  const [index, setIndex] = useState(0);
  const [isBad, setBad] = useState(false);
  const segment = recording.segments[index];
  if (segment === undefined) return null;
  const last = recording.segments.length - 1;
  return html`
    <${Dialog} title=${recording.alias} onClose=${onClose}>
      <div class="body">
        <video key=${index} class="player" controls autoplay muted src=${segment.download_url} onEnded=${() => index < last && setIndex(index + 1)} onError=${() => setBad(true)}></video>
        ${isBad && html`<p class="failed" role="alert">This browser cannot play it; download it instead.</p>`}
        <p class="hint">${formatTime(segment.started_at)} · ${formatSpan(segment.duration_seconds)}</p>
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
