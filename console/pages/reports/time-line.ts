/** When each track was seen: a bar a track. A bar says which one it is, and leads to its card. */
import { useState } from "preact/hooks";
import type { ReportTrack } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { hueOf } from "../../live/colours.ts";
import { layOut, spanOf } from "./lanes.ts";

const formatClock = (seconds: number): string => new Date(seconds * 1000).toLocaleTimeString();

const describe = ({ category_name, track_id, first_seen, last_seen }: ReportTrack): string =>
  `${category_name} ${track_id}, ${formatClock(first_seen)} to ${formatClock(last_seen)}, ${(last_seen - first_seen).toFixed(1)} s`;

/** Arrow keys go from bar to bar; by Tab the whole line is one stop. */
const STEPS: Readonly<Record<string, number>> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 };

export function TimeLine({ tracks, onChoose }: { tracks: readonly ReportTrack[]; onChoose: (id: number) => void }) {
  const [told, setTold] = useState<ReportTrack | null>(null);
  const [stop, setStop] = useState(0);
  const bars = layOut(tracks);
  const { from, to } = spanOf(tracks);
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
  return html`
    <figure class="card time-line">
      <div class="bars" role="group" aria-label=${`When ${tracks.length} tracks were seen`} onKeyDown=${onKey}>
        <div class="lanes" style=${{ height: `${lanes * 1.1}rem` }}>
          ${bars.map(
            ({ track, lane, left, width }, i) => html`
              <button key=${track.track_id} type="button" class="bar" aria-label=${describe(track)} tabindex=${i === current ? 0 : -1}
                style=${{ left: `${left * 100}%`, width: `${width * 100}%`, top: `${lane * 1.1}rem`, background: `hsl(${hueOf(track.track_id)} 65% 45%)` }}
                onMouseEnter=${() => setTold(track)} onMouseLeave=${() => setTold(null)}
                onFocus=${() => {
                  setTold(track);
                  setStop(i);
                }} onBlur=${() => setTold(null)}
                onClick=${() => onChoose(track.track_id)}></button>
            `,
          )}
        </div>
      </div>
      <figcaption class="row spread hint"><span>${formatClock(from)}</span><strong>${told === null ? `${tracks.length} ${tracks.length === 1 ? "track" : "tracks"}` : describe(told)}</strong><span>${formatClock(to)}</span></figcaption>
    </figure>
  `;
}
