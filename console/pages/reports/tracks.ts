/** The tracks of a report: a time line with one bar per track, and a card for each. */
import { useState } from "preact/hooks";
import type { ReportTrack } from "../../../client/client.ts";
import { formatCount, formatTime, trackHue } from "../../components/format.ts";
import { html } from "../../html.ts";
import { layOut, rangeOf } from "./lanes.ts";

const nameOf = ({ category_name, track_id }: ReportTrack): string => `${category_name} ${track_id}`;
const durationOf = ({ first_seen, last_seen }: ReportTrack): string => `${(last_seen - first_seen).toFixed(1)} s`;
const formatClock = (seconds: number): string => new Date(seconds * 1000).toLocaleTimeString();

const describe = (track: ReportTrack): string =>
  `${nameOf(track)}, ${formatClock(track.first_seen)} to ${formatClock(track.last_seen)}, ${durationOf(track)}`;

/** Arrow keys move between bars; all bars are one tab stop. */
const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function TimeLine({ tracks, onChoose }: { tracks: readonly ReportTrack[]; onChoose: (id: number) => void }) {
  const [described, setDescribed] = useState<ReportTrack | null>(null);
  const [stop, setStop] = useState(0);
  const bars = layOut(tracks);
  const { from, to } = rangeOf(tracks);
  const lanes = Math.max(...bars.map(({ lane }) => lane)) + 1;
  const current = Math.min(stop, bars.length - 1);
  const onKey = (event: KeyboardEvent): void => {
    const step = STEPS[event.key];
    if (step === undefined) return;
    event.preventDefault();
    const next = Math.min(bars.length - 1, Math.max(0, current + step));
    setStop(next);
    (event.currentTarget as Element).querySelectorAll("button")[next]?.focus();
  };
  const clear = () => setDescribed(null);
  return html`
    <figure class="card time-line">
      <div class="bars" role="group" aria-label=${`Time line of ${formatCount(tracks.length, "track")}`} onKeyDown=${onKey}>
        <div class="lanes" style=${{ height: `${lanes * 1.1}rem` }}>
          ${bars.map(
            ({ track, lane, left, width }, i) => html`
              <button key=${track.track_id} type="button" class="bar" aria-label=${describe(track)} tabindex=${i === current ? 0 : -1}
                style=${{ left: `${left * 100}%`, width: `${width * 100}%`, top: `${lane * 1.1}rem`, background: `hsl(${trackHue(track.track_id)} 65% 45%)` }}
                onMouseEnter=${() => setDescribed(track)} onMouseLeave=${clear} onBlur=${clear}
                onFocus=${() => {
                  setDescribed(track);
                  setStop(i);
                }}
                onClick=${() => onChoose(track.track_id)}></button>
            `,
          )}
        </div>
      </div>
      <figcaption class="row spread hint"><span>${formatClock(from)}</span><strong>${described === null ? formatCount(tracks.length, "track") : describe(described)}</strong><span>${formatClock(to)}</span></figcaption>
    </figure>
  `;
}

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
  const title = nameOf(track);
  const { last_location: location } = track;
  return html`
    <article class="card track" id=${idOf(track.track_id)} tabindex="-1" aria-label=${title}>
      ${patch === undefined ? html`<div class="patch blank"></div>` : html`<img class="patch" loading="lazy" alt=${title} src=${`data:image/jpeg;base64,${patch.image}`} />`}
      <div>
        <h2>${title} ${track.is_live && html`<span class="state live">live</span>`}</h2>
        <p class="hint">${formatTime(new Date(track.first_seen * 1000).toISOString())}</p>
        <p class="hint">${durationOf(track)}, conf. ${Math.round(track.max_confidence)} %</p>
        ${location !== null && html`<p class="hint">${location.latitude.toFixed(6)}, ${location.longitude.toFixed(6)}</p>`}
        ${track.enhanced_data !== undefined && html`<${Attributes} data=${track.enhanced_data} />`}
      </div>
    </article>
  `;
};

const Attributes = ({ data }: { data: NonNullable<ReportTrack["enhanced_data"]> }) => {
  const { vehicle_type, colour, plate, attributes } = data;
  const tags = [
    ...(vehicle_type === null ? [] : [vehicle_type]),
    ...(colour === null ? [] : [colour.name]),
    ...(plate === null ? [] : [plate.text]),
    ...Object.entries(attributes).flatMap(([name, value]) => (value === null ? [] : [formatAttribute(name, value)])),
  ];
  if (tags.length === 0) return html`<p class="hint">No attributes found.</p>`;
  return html`<ul class="tags">${tags.map((tag) => html`<li>${tag}</li>`)}</ul>`;
};

/** `upper_colour: { name: "red", … }` is "upper: red". */
function formatAttribute(name: string, value: unknown): string {
  const { name: colour, text } = Object(value) as { readonly name?: string; readonly text?: string };
  const shown = colour ?? text ?? (typeof value === "number" ? Number(value.toFixed(2)) : value);
  const word = shown === true ? "yes" : shown === false ? "no" : String(shown);
  return `${name.replace(/_colour$/, "").replaceAll("_", " ")}: ${word}`;
}
