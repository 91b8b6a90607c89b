/** The map: a grid, cameras with what they see, tracks with where they came from. North is up. */
import { hueOf } from "../../live/draw-boxes.ts";
import { footprint, type Offset, type Pose, roundLength, type Spot, toOffset } from "./ground.ts";
import type { MapTrack, Scene } from "./scene.ts";

/** What of the world is shown. */
export interface Look {
  readonly origin: Spot;
  /** Metres east and north of the origin, in the middle of the map. */
  readonly centre: Offset;
  readonly metresPerPixel: number;
}

interface Colours {
  readonly line: string;
  readonly text: string;
  readonly accent: string;
  readonly card: string;
}

type Place = (offset: Offset) => readonly [x: number, y: number];

export function drawMap(canvas: HTMLCanvasElement, scene: Scene, look: Look): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const scale = window.devicePixelRatio;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const colours = {
    line: colour("--line"),
    text: colour("--text"),
    accent: colour("--accent"),
    card: colour("--card"),
  };
  const place: Place = ([east, north]) => [
    width / 2 + (east - look.centre[0]) / look.metresPerPixel,
    height / 2 - (north - look.centre[1]) / look.metresPerPixel,
  ];
  context.font = "13px system-ui, sans-serif";
  drawGrid(context, { width, height, look, colours, place });
  for (const camera of scene.cameras.values()) drawCamera(context, camera, look, colours, place);
  for (const track of scene.tracks.values()) drawTrack(context, track, look, colours, place);
  drawScale(context, { width, height, look, colours });
}

interface Sheet {
  readonly width: number;
  readonly height: number;
  readonly look: Look;
  readonly colours: Colours;
}

function drawGrid(
  context: CanvasRenderingContext2D,
  { width, height, look, colours, place }: Sheet & { place: Place },
): void {
  const step = roundLength(look.metresPerPixel * 120);
  const [halfEast, halfNorth] = [(width / 2) * look.metresPerPixel, (height / 2) * look.metresPerPixel];
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  for (
    let east = Math.ceil((look.centre[0] - halfEast) / step) * step;
    east < look.centre[0] + halfEast;
    east += step
  ) {
    const [x] = place([east, 0]);
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  for (
    let north = Math.ceil((look.centre[1] - halfNorth) / step) * step;
    north < look.centre[1] + halfNorth;
    north += step
  ) {
    const [, y] = place([0, north]);
    context.moveTo(0, y);
    context.lineTo(width, y);
  }
  context.stroke();
}

const isPose = (camera: Partial<Pose>): camera is Pose =>
  [
    camera.camera_yaw,
    camera.camera_pitch,
    camera.camera_roll,
    camera.sensor_hfov,
    camera.sensor_vfov,
    camera.rel_altitude,
  ].every((value) => typeof value === "number");

function drawCamera(
  context: CanvasRenderingContext2D,
  camera: Partial<Pose> & Spot,
  look: Look,
  colours: Colours,
  place: Place,
): void {
  const [east, north] = toOffset(look.origin, camera);
  const [x, y] = place([east, north]);
  context.strokeStyle = colours.accent;
  context.fillStyle = colours.accent;
  if (isPose(camera)) {
    const corners = footprint(camera).map(([e, n]) => place([east + e, north + n]));
    context.beginPath();
    for (const [i, corner] of corners.entries()) context[i === 0 ? "moveTo" : "lineTo"](...corner);
    context.closePath();
    context.globalAlpha = 0.15;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.stroke();
  }
  const yaw = ((camera.camera_yaw ?? 0) * Math.PI) / 180;
  context.save();
  context.translate(x, y);
  context.rotate(yaw);
  context.beginPath();
  context.moveTo(0, -12);
  context.lineTo(8, 9);
  context.lineTo(0, 5);
  context.lineTo(-8, 9);
  context.closePath();
  context.fill();
  context.restore();
}

function drawTrack(
  context: CanvasRenderingContext2D,
  track: MapTrack,
  look: Look,
  colours: Colours,
  place: Place,
): void {
  const points = track.trail.map((spot) => place(toOffset(look.origin, spot)));
  const last = points.at(-1);
  if (last === undefined) return;
  const hue = `hsl(${hueOf(track.id)} 75% 50%)`;
  context.strokeStyle = hue;
  context.lineWidth = 2;
  context.beginPath();
  for (const [i, point] of points.entries()) context[i === 0 ? "moveTo" : "lineTo"](...point);
  context.stroke();
  context.globalAlpha = 0.2;
  context.fillStyle = hue;
  context.beginPath();
  context.arc(...last, Math.max(4, track.errorM / look.metresPerPixel), 0, Math.PI * 2);
  context.fill();
  context.globalAlpha = 1;
  context.beginPath();
  context.arc(...last, 5, 0, Math.PI * 2);
  context.fill();
  context.fillStyle = colours.text;
  const speed = track.speedMps === null ? "" : ` ${track.speedMps.toFixed(1)} m/s`;
  context.fillText(`${track.name} ${track.id}${speed}`, last[0] + 9, last[1] + 4);
}

function drawScale(context: CanvasRenderingContext2D, { width, height, look, colours }: Sheet): void {
  const length = roundLength(look.metresPerPixel * Math.min(160, width / 2));
  const pixels = length / look.metresPerPixel;
  context.strokeStyle = colours.text;
  context.fillStyle = colours.text;
  context.lineWidth = 2;
  context.beginPath();
  context.moveTo(16, height - 22);
  context.lineTo(16, height - 16);
  context.lineTo(16 + pixels, height - 16);
  context.lineTo(16 + pixels, height - 22);
  context.stroke();
  context.fillText(length >= 1000 ? `${length / 1000} km` : `${length} m`, 22, height - 24);
  context.fillText("N ↑", width - 34, 22);
}
