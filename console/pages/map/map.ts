/** Where things are: the tracks of all running processes, with the drones that see them. No tiles are fetched from anywhere. */
import { useEffect, useRef, useState } from "preact/hooks";
import { useAsked } from "../../asking.ts";
import { html } from "../../html.ts";
import { EventReader } from "../../live/read-events.ts";
import { stream } from "../../live/stream.ts";
import { Empty } from "../../parts/states.ts";
import { addressOf } from "../../router.ts";
import { windhover } from "../../session.ts";
import { drawMap, type Look } from "./draw-map.ts";
import { type Offset, toOffset } from "./ground.ts";
import { Scene } from "./scene.ts";

const EVERY_MS = 5_000;
const MARGIN = 1.3;

export function MapPage() {
  const { asked } = useAsked((signal) => windhover.listProcesses({}, { signal }), [], EVERY_MS);
  const uuids = "value" in asked ? (asked.value?.processes ?? []).map((process) => process.uuid).sort() : [];
  return html`
    <h1>Map</h1>
    ${
      asked.state === "known" && uuids.length === 0
        ? html`<${Empty} title="No process runs"><p>Start one on a source that has telemetry: <a href=${addressOf("processes", "new")}>start</a>.</p></${Empty}>`
        : html`<${Live} uuids=${uuids.join(" ")} />`
    }
  `;
}

function Live({ uuids }: { uuids: string }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const scene = useRef(new Scene());
  const look = useRef<Look | null>(null);
  const isFitting = useRef(true);
  const [hasPlaces, setPlaces] = useState(false);
  useEffect(() => {
    const stops = (uuids === "" ? [] : uuids.split(" ")).map((uuid) => follow(uuid, scene.current));
    let frame = 0;
    const draw = (): void => {
      frame = requestAnimationFrame(draw);
      const { spots } = scene.current;
      if (canvas.current === null || spots.length === 0) return;
      setPlaces(true);
      if (isFitting.current || look.current === null) look.current = fit(canvas.current, scene.current);
      drawMap(canvas.current, scene.current, look.current);
    };
    draw();
    return () => {
      cancelAnimationFrame(frame);
      for (const stop of stops) stop();
    };
  }, [uuids]);
  const change = (next: (look: Look) => Look): void => {
    if (look.current === null) return;
    isFitting.current = false;
    look.current = next(look.current);
  };
  const zoom = (factor: number) => change((now) => ({ ...now, metresPerPixel: now.metresPerPixel * factor }));
  const move = (right: number, down: number) =>
    change((now) => ({
      ...now,
      centre: [now.centre[0] - right * now.metresPerPixel, now.centre[1] + down * now.metresPerPixel] as Offset,
    }));
  const onKey = (event: KeyboardEvent): void => {
    const [right, down] = KEYS[event.key] ?? [0, 0];
    if (event.key === "+") zoom(0.8);
    else if (event.key === "-") zoom(1.25);
    else if (right !== 0 || down !== 0) move(right, down);
    else return;
    event.preventDefault();
  };
  return html`
    <div class="map">
      <canvas ref=${canvas} tabindex="0" role="img" aria-label="Map of tracks and cameras; arrow keys move it, plus and minus zoom"
        onKeyDown=${onKey}
        onWheel=${(event: WheelEvent) => {
          event.preventDefault();
          zoom(event.deltaY > 0 ? 1.15 : 0.87);
        }}
        onPointerDown=${(event: PointerEvent) => (event.currentTarget as Element).setPointerCapture(event.pointerId)}
        onPointerMove=${(event: PointerEvent) => event.buttons === 1 && move(event.movementX, event.movementY)}></canvas>
      ${!hasPlaces && html`<p class="over" role="status">Nothing has a place yet. Places come with telemetry of the camera.</p>`}
      <div class="row tools">
        <button type="button" aria-label="Closer" onClick=${() => zoom(0.7)}>+</button>
        <button type="button" aria-label="Further" onClick=${() => zoom(1.4)}>−</button>
        <button type="button" onClick=${() => {
          isFitting.current = true;
        }}>Show all</button>
      </div>
    </div>
  `;
}

const KEYS: Readonly<Record<string, readonly [number, number]>> = {
  ArrowLeft: [40, 0],
  ArrowRight: [-40, 0],
  ArrowUp: [0, 40],
  ArrowDown: [0, -40],
};

const follow = (uuid: string, scene: Scene): (() => void) =>
  stream({
    path: `/process/${uuid}/events`,
    open: () => {
      const events = new EventReader();
      return (piece) => {
        for (const { event, data } of events.read(piece)) {
          if (event === "detections") scene.addDetections(JSON.parse(data), performance.now());
          if (event === "drone") scene.addDrone(uuid, JSON.parse(data));
        }
      };
    },
    onTrouble: () => {},
  });

/** All of it, with some room around. */
function fit(canvas: HTMLCanvasElement, scene: Scene): Look {
  const [origin = { latitude: 0, longitude: 0 }] = scene.spots;
  const offsets = scene.spots.map((spot) => toOffset(origin, spot));
  const [easts, norths] = [offsets.map(([east]) => east), offsets.map(([, north]) => north)];
  const [west, east, south, north] = [Math.min(...easts), Math.max(...easts), Math.min(...norths), Math.max(...norths)];
  const across = Math.max((east - west) / canvas.clientWidth, (north - south) / canvas.clientHeight);
  return { origin, centre: [(west + east) / 2, (south + north) / 2], metresPerPixel: Math.max(across * MARGIN, 0.2) };
}
