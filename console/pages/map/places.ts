/** What is on the map, in words: for who cannot see it, and for numbers that one wants to have exactly. */
import { html } from "../../html.ts";
import { addressOf } from "../../router.ts";
import type { Spot } from "./ground.ts";
import type { Camera, MapTrack, Scene } from "./scene.ts";

const MOST_ROWS = 100;

const show = ({ latitude, longitude }: Spot): string => `${latitude.toFixed(6)}, ${longitude.toFixed(6)}`;

export function Places({ scene }: { scene: Scene }) {
  const tracks = [...scene.tracks.values()].slice(-MOST_ROWS).reverse();
  const left = scene.tracks.size - tracks.length;
  return html`
    <details class="gap">
      <summary>In words: ${count(scene.cameras.size, "camera")}, ${count(scene.tracks.size, "track")}</summary>
      <table class="cards" aria-label="What is on the map">
        <thead><tr><th>What</th><th>Place</th><th>To within</th><th>Speed</th></tr></thead>
        <tbody>
          ${[...scene.cameras].map(([uuid, camera]) => html`<${CameraRow} key=${uuid} uuid=${uuid} camera=${camera} />`)}
          ${tracks.map((track) => html`<${TrackRow} key=${track.key} track=${track} />`)}
        </tbody>
      </table>
      ${left > 0 && html`<p class="hint">and ${left} more</p>`}
    </details>
  `;
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? "" : "s"}`;

const CameraRow = ({ uuid, camera }: { uuid: string; camera: Camera }) => html`
  <tr>
    <td><a href=${addressOf("processes", uuid)}>Camera</a></td>
    <td data-name="Place">${show(camera)}</td>
    <td data-name="To within">—</td>
    <td data-name="Speed">—</td>
  </tr>
`;

const TrackRow = ({ track: { name, id, trail, errorM, speedMps } }: { track: MapTrack }) => {
  const last = trail.at(-1);
  return html`
    <tr>
      <td>${name} ${id}</td>
      <td data-name="Place">${last === undefined ? "—" : show(last)}</td>
      <td data-name="To within">${errorM > 0 ? `${errorM.toFixed(1)} m` : "—"}</td>
      <td data-name="Speed">${speedMps === null ? "—" : `${speedMps.toFixed(1)} m/s`}</td>
    </tr>
  `;
};
