/** Recordings of streams that were published to the service: played and downloaded. */
import { useState } from "preact/hooks";
import type { Recording } from "../../../client/client.ts";
import { Dialog } from "../../components/dialog.ts";
import { formatBytes, formatDuration, formatTime } from "../../components/format.ts";
import { More, useList, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { html } from "../../html.ts";
import { windhover } from "../../session.ts";

const POLL_MS = 5_000;

export function Recordings() {
  const { query, showMore } = useList((page, signal) => windhover.listRecordings(page, { signal }), [], POLL_MS);
  const [playing, setPlaying] = useState<Recording | null>(null);
  const actions = (recording: Recording) => html`<div class="row">
    ${recording.segments.length > 0 && html`<button type="button" aria-label=${`Play ${recording.alias}`} onClick=${() => setPlaying(recording)}>Play</button>`}
    ${recording.segments.map(({ index, download_url }, _, all) => html`<a key=${index} class="button" href=${download_url} download>Download${all.length > 1 ? ` ${index + 1}` : ""}</a>`)}
  </div>`;
  return html`
    <h1>Recordings</h1>
    ${whenLoaded(query, ({ recordings, next_cursor: next }) =>
      recordings.length === 0
        ? html`<${Empty} title="No recordings yet"><p>Streams that cameras and encoders publish to this service are recorded. The demo is not.</p></${Empty}>`
        : html`<${Table} rows=${recordings} columns=${COLUMNS} actions=${actions} /><${More} count=${recordings.length} next=${next} onMore=${showMore} />`,
    )}
    ${playing !== null && html`<${Player} recording=${playing} onClose=${() => setPlaying(null)} />`}
  `;
}

const COLUMNS: readonly Column<Recording>[] = [
  [
    "Source",
    ({ alias, detail }) => html`<strong>${alias}</strong>${detail !== null && html`<p class="hint">${detail}</p>`}`,
  ],
  ["From", ({ started_at }) => formatTime(started_at)],
  ["To", ({ stopped_at: end }) => (end === null ? html`<span class="state live">recording</span>` : formatTime(end))],
  ["Duration", ({ duration_seconds }) => formatDuration(duration_seconds)],
  ["Size", ({ size_bytes }) => formatBytes(size_bytes)],
];

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
