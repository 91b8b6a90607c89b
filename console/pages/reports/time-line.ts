/** When each track was seen: a bar a track, by class. */
import type { ReportTrack } from "../../../client/client.ts";
import { html } from "../../html.ts";
import { hueOf } from "../../live/draw-boxes.ts";

const ROW = 10;
const MOST_ROWS = 60;

export const TimeLine = ({ tracks }: { tracks: readonly ReportTrack[] }) => {
  const from = Math.min(...tracks.map((track) => track.first_seen));
  const to = Math.max(...tracks.map((track) => track.last_seen), from + 1);
  const shown = tracks.slice(0, MOST_ROWS);
  const x = (time: number) => ((time - from) / (to - from)) * 1000;
  const label = (time: number) => new Date(time * 1000).toLocaleTimeString();
  return html`
    <figure class="card time-line">
      <svg viewBox=${`0 0 1000 ${shown.length * ROW}`} preserveAspectRatio="none" role="img" aria-label=${`When ${tracks.length} tracks were seen`}>
        ${shown.map(
          (
            track,
            row,
          ) => html`<rect key=${track.track_id} x=${x(track.first_seen)} y=${row * ROW + 1} height=${ROW - 2} rx="1"
            width=${Math.max(2, x(track.last_seen) - x(track.first_seen))} fill=${`hsl(${hueOf(track.track_id)} 70% 50%)`}>
            <title>${track.category_name} ${track.track_id}</title></rect>`,
        )}
      </svg>
      <figcaption class="row spread hint"><span>${label(from)}</span>${tracks.length > MOST_ROWS && html`<span>the first ${MOST_ROWS} of ${tracks.length}</span>`}<span>${label(to)}</span></figcaption>
    </figure>
  `;
};
