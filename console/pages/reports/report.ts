/** The report of one process: a card for every track with its picture, and when each was seen. */
import { useState } from "preact/hooks";
import type { EnhancementState, ReportTrack, TrackReport } from "../../../client/client.ts";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { Confirm } from "../../parts/dialog.ts";
import { formatTime } from "../../parts/format.ts";
import { Empty, Shown } from "../../parts/states.ts";
import { attempt } from "../../parts/toasts.ts";
import { addressOf, go } from "../../router.ts";
import { windhover } from "../../session.ts";
import { downloadTracks } from "./download.ts";
import { TimeLine } from "./time-line.ts";

const EVERY_MS = 5_000;
const PAGE = 100;

interface Known {
  readonly report: TrackReport;
  /** Null: never asked for. */
  readonly enhancement: EnhancementState | null;
}

export function ReportPage({ uuid }: { uuid: string }) {
  const [cursors, setCursors] = useState<readonly string[]>([]);
  const cursor = cursors.at(-1);
  const { asked, reload } = useAsked(
    async (signal): Promise<Known> => {
      const page = { limit: PAGE, ...(cursor !== undefined && { cursor }) };
      const [report, enhancement] = await Promise.all([
        windhover.readTracks({ process_uuid: uuid, ...page }, { signal }),
        windhover.readEnhancement({ process_uuid: uuid }, { signal }).catch(() => null),
      ]);
      return { report: report as TrackReport, enhancement };
    },
    [uuid, cursor],
    EVERY_MS,
  );
  return html`
    <nav aria-label="Where you are" class="crumbs"><a href=${addressOf("reports")}>Reports</a></nav>
    <${Shown} asked=${asked} onRetry=${reload}>
      ${({ report, enhancement }: Known) => html`
        <${Head} report=${report} enhancement=${enhancement} onChange=${reload} />
        ${report.tracks.length === 0 ? html`<${Empty} title="Nothing was seen in this window" />` : html`<${TimeLine} tracks=${report.tracks} /><${Cards} tracks=${report.tracks} />`}
        <div class="row">
          ${cursors.length > 0 && html`<button type="button" onClick=${() => setCursors(cursors.slice(0, -1))}>Earlier page</button>`}
          ${report.next_cursor !== undefined && html`<button type="button" onClick=${() => setCursors([...cursors, report.next_cursor ?? ""])}>Next page</button>`}
        </div>
      `}
    </${Shown}>
  `;
}

function Head({ report, enhancement, onChange }: Known & { onChange: () => void }) {
  const [isDoomed, setDoomed] = useState(false);
  const { process_uuid } = report;
  const enhance = async (): Promise<void> => {
    await attempt(() => windhover.enhanceTracks({ process_uuid }), "It is being enhanced");
    onChange();
  };
  const remove = async (): Promise<void> => {
    if (await attempt(() => windhover.deleteTracks({ process_uuid }), "The report is gone")) go(addressOf("reports"));
  };
  return html`
    <div class="row spread">
      <h1>Report <span class="hint">the last ${report.time_window_minutes} minutes</span></h1>
      <div class="row">
        <button type="button" disabled=${enhancement?.status === "RUNNING"} onClick=${() => void enhance()}>Enhance</button>
        ${(["geojson", "kml", "csv"] as const).map((format) => html`<button key=${format} type="button" onClick=${() => void downloadTracks(process_uuid, format)}>${format.toUpperCase()}</button>`)}
        <button type="button" class="danger" onClick=${() => setDoomed(true)}>Delete</button>
      </div>
    </div>
    ${
      enhancement !== null &&
      html`<p role="status"><span class="state ${enhancement.status}">${enhancement.status.toLowerCase()}</span> ${enhancement.detail}</p>
        ${enhancement.status === "RUNNING" && html`<progress max="1" value=${enhancement.progress} aria-label="Enhancement"></progress>`}`
    }
    ${isDoomed && html`<${Confirm} title="Delete this report?" action="Delete" onClose=${() => setDoomed(false)} onConfirm=${() => void remove()}><p>Tracks, their paths and their pictures go.</p></${Confirm}>`}
  `;
}

const Cards = ({ tracks }: { tracks: readonly ReportTrack[] }) =>
  html`<div class="grid tight">${tracks.map((track) => html`<${Card} key=${track.track_id} track=${track} />`)}</div>`;

const Card = ({ track }: { track: ReportTrack }) => {
  const [patch] = track.image_patches;
  const seconds = track.last_seen - track.first_seen;
  return html`
    <article class="card track">
      ${patch === undefined ? html`<div class="patch blank"></div>` : html`<img class="patch" loading="lazy" alt=${`${track.category_name} ${track.track_id}`} src=${`data:image/jpeg;base64,${patch.image}`} />`}
      <div>
        <h2>${track.category_name} ${track.track_id} ${track.is_live && html`<span class="state live">live</span>`}</h2>
        <p class="hint">${formatTime(new Date(track.first_seen * 1000).toISOString())} · ${seconds.toFixed(1)} s · ${Math.round(track.max_confidence)} %</p>
        ${track.last_location !== null && html`<p class="hint">${track.last_location.latitude.toFixed(6)}, ${track.last_location.longitude.toFixed(6)}</p>`}
        ${track.enhanced_data !== undefined && html`<${Enhanced} data=${track.enhanced_data} />`}
      </div>
    </article>
  `;
};

const Enhanced = ({ data }: { data: NonNullable<ReportTrack["enhanced_data"]> }) => {
  const { vehicle_type, colour, plate, attributes } = data;
  const words = [
    ...(vehicle_type === null ? [] : [vehicle_type]),
    ...(colour === null ? [] : [colour.name]),
    ...(plate === null ? [] : [plate.text]),
    ...Object.entries(attributes).map(
      ([name, value]) =>
        `${name.replaceAll("_", " ")} ${typeof value === "object" && value !== null && "name" in value ? String(value.name) : String(value)}`,
    ),
  ];
  return html`<ul class="tags">${words.map((word) => html`<li>${word}</li>`)}</ul>`;
};
