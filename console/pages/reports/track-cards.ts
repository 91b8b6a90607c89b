/** A card for every track: its best picture, when and where it was, and what its picture shows. */
import type { ReportTrack } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { formatTime } from "../../parts/format.ts";

export const TrackCards = ({ tracks }: { tracks: readonly ReportTrack[] }) =>
  html`<div class="grid tight">${tracks.map((track) => html`<${Card} key=${track.track_id} track=${track} />`)}</div>`;

const idOf = (trackId: number): string => `track-${trackId}`;

export function showCard(trackId: number): void {
  const card = document.getElementById(idOf(trackId));
  card?.scrollIntoView({ block: "center" });
  card?.focus({ preventScroll: true });
}

const Card = ({ track }: { track: ReportTrack }) => {
  const [patch] = track.image_patches;
  const title = `${track.category_name} ${track.track_id}`;
  const { last_location: place } = track;
  return html`
    <article class="card track" id=${idOf(track.track_id)} tabindex="-1" aria-label=${title}>
      ${patch === undefined ? html`<div class="patch blank"></div>` : html`<img class="patch" loading="lazy" alt=${title} src=${`data:image/jpeg;base64,${patch.image}`} />`}
      <div>
        <h2>${title} ${track.is_live && html`<span class="state live">live</span>`}</h2>
        <p class="hint">${formatTime(new Date(track.first_seen * 1000).toISOString())}</p>
        <p class="hint">${(track.last_seen - track.first_seen).toFixed(1)} s, ${Math.round(track.max_confidence)} % sure</p>
        ${place !== null && html`<p class="hint">${place.latitude.toFixed(6)}, ${place.longitude.toFixed(6)}</p>`}
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
    ...Object.entries(attributes).flatMap(([name, value]) => (value === null ? [] : [describe(name, value)])),
  ];
  if (words.length === 0) return html`<p class="hint">Its picture shows nothing more.</p>`;
  return html`<ul class="tags">${words.map((word) => html`<li>${word}</li>`)}</ul>`;
};

/** `upper_colour: { name: "red", … }` is "upper: red". */
function describe(name: string, value: unknown): string {
  const { name: colour, text } = Object(value) as { readonly name?: string; readonly text?: string };
  const said = colour ?? text ?? (typeof value === "number" ? Number(value.toFixed(2)) : value);
  const words = said === true ? "yes" : said === false ? "no" : String(said);
  return `${name.replace(/_colour$/, "").replaceAll("_", " ")}: ${words}`;
}
