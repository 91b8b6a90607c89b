/** What the map shows as a table: for screen readers, and for exact numbers. */
import { formatCount } from "../../components/format.ts";
import { type Column, Table } from "../../components/table.ts";
import { html, type Markup } from "../../html.ts";
import type { Position, Scene } from "../../map/scene.ts";
import { linkTo } from "../../router.ts";

const MAX_ROWS = 100;

interface MapObject {
  readonly key: string;
  readonly name: Markup;
  readonly position: Position | undefined;
  readonly errorM: number;
  readonly speedMps: number | null;
}

const COLUMNS: readonly Column<MapObject>[] = [
  ["Object", ({ name }) => name],
  ["Position", ({ position: at }) => (at ? `${at.latitude.toFixed(6)}, ${at.longitude.toFixed(6)}` : "—")],
  ["Accuracy", ({ errorM }) => (errorM > 0 ? `${errorM.toFixed(1)} m` : "—")],
  ["Speed", ({ speedMps }) => (speedMps === null ? "—" : `${speedMps.toFixed(1)} m/s`)],
];

export function PositionTable({ scene }: { scene: Scene }) {
  const cameras = [...scene.cameras].map(([uuid, position]): MapObject => {
    const name = html`<a href=${linkTo("processes", uuid)}>Camera</a>`;
    return { key: uuid, name, position, errorM: 0, speedMps: null };
  });
  const tracks = [...scene.tracks.values()]
    .slice(-MAX_ROWS)
    .map((track): MapObject => ({ ...track, name: `${track.name} ${track.id}`, position: track.trail.at(-1) }));
  const hidden = scene.tracks.size - tracks.length;
  return html`
    <details class="gap">
      <summary>Table: ${formatCount(cameras.length, "camera")}, ${formatCount(scene.tracks.size, "track")}</summary>
      <${Table} label="Cameras and tracks" rows=${[...cameras, ...tracks.reverse()]} keyOf=${({ key }: MapObject) => key} columns=${COLUMNS} />
      ${hidden > 0 && html`<p class="hint">and ${hidden} more</p>`}
    </details>
  `;
}
