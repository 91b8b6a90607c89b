/** Geolocated tracks of all running processes, and the cameras that see them. No map tiles are fetched. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatCount } from "../../components/format.ts";
import { useQuery, whenLoaded } from "../../components/query.ts";
import { Empty } from "../../components/states.ts";
import { type Column, Table } from "../../components/table.ts";
import { html, type Markup } from "../../html.ts";
import { SubscriptionLimit, useProcessEvents } from "../../live/process-streams.ts";
import { linkTo } from "../../router.ts";
import { windhover } from "../../session.ts";
import type { Position } from "./ground.ts";
import { createHandlers, MapCanvas } from "./map-canvas.ts";
import type { Scene } from "./scene.ts";

const POLL_MS = 2_000;
const TABLE_MS = 1_000;
const MAX_ROWS = 100;

export function MapPage() {
  const query = useQuery(
    async (signal) => (await windhover.listProcesses({}, { signal })).processes.map(({ uuid }) => uuid),
    [],
    POLL_MS,
  );
  return html`
    <h1>Map</h1>
    ${whenLoaded(query, (uuids) =>
      uuids.length === 0
        ? html`<${Empty} title="No running processes"><p><a href=${linkTo("processes", "new")}>Start a process</a> on a source with telemetry.</p></${Empty}>`
        : html`<${LiveMap} uuids=${uuids} />`,
    )}
  `;
}

function LiveMap({ uuids }: { uuids: readonly string[] }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const map = useMemo(() => new MapCanvas(() => canvas.current), []);
  const [, setShownVersion] = useState(-1);
  const { scene } = map;
  useProcessEvents(uuids, (uuid, { event, data }) => {
    if (event === "detections") scene.addDetections(JSON.parse(data), performance.now());
    if (event === "drone") scene.addDrone(uuid, JSON.parse(data));
  });
  useEffect(() => scene.retain(uuids), [uuids.join(" ")]);
  useEffect(() => {
    let frame = 0;
    const draw = (): void => {
      frame = requestAnimationFrame(draw);
      map.draw();
    };
    draw();
    const timer = setInterval(() => {
      scene.expire(performance.now());
      setShownVersion(scene.version);
    }, TABLE_MS);
    return () => {
      cancelAnimationFrame(frame);
      clearInterval(timer);
    };
  }, []);
  const handlers = useMemo(() => createHandlers(map), []);
  const isEmpty = scene.cameras.size + scene.tracks.size === 0;
  return html`
    <div class="map">
      <canvas ref=${canvas} tabindex="0" role="application" aria-roledescription="map" ...${handlers}
        aria-label="Map of tracks and cameras. Arrow keys move it, plus and minus zoom, 0 shows all."></canvas>
      ${isEmpty && html`<p class="over" role="status">No geolocated objects yet. Geolocation needs telemetry of the camera.</p>`}
      <div class="row tools">
        <button type="button" aria-label="Zoom in" onClick=${() => map.zoom(0.7)}>+</button>
        <button type="button" aria-label="Zoom out" onClick=${() => map.zoom(1.4)}>−</button>
        <button type="button" onClick=${() => map.showAll()}>Show all</button>
      </div>
    </div>
    <${SubscriptionLimit} count=${uuids.length} />
    <${PositionTable} scene=${scene} />
  `;
}

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

/** For screen readers, and for exact numbers. */
function PositionTable({ scene }: { scene: Scene }) {
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
