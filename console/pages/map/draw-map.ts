/** Draws the map: a grid, cameras with their footprints, tracks with their trails, and a scale. North is up. */
import { trackHue } from "../../components/format.ts";
import { footprint, isPose, type Offset, type Position, roundLength, toOffset } from "./ground.ts";
import type { Camera, MapTrack, Scene } from "./scene.ts";
import { type Pixel, toPixel, type Viewport } from "./viewport.ts";

export function drawMap(canvas: HTMLCanvasElement, scene: Scene, viewport: Viewport): void {
  const surface = prepare(canvas, viewport);
  if (surface === null) return;
  drawGrid(surface);
  for (const camera of scene.cameras.values()) drawCamera(surface, camera);
  drawTracks(surface, [...scene.tracks.values()]);
  drawScale(surface);
}

interface Surface {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly viewport: Viewport;
  readonly colours: Readonly<Record<"line" | "text" | "accent" | "card", string>>;
  /** Of track colours, in per cent: readable on the background. */
  readonly lightness: number;
  readonly textSize: number;
  toPixel(offset: Offset): Pixel;
  /** From the origin of the viewport. */
  toOffset(position: Position): Offset;
}

function prepare(canvas: HTMLCanvasElement, viewport: Viewport): Surface | null {
  const context = canvas.getContext("2d");
  if (context === null) return null;
  const scale = window.devicePixelRatio;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const textSize = Number.parseFloat(style.fontSize) * 0.82;
  context.font = `${textSize}px ${style.fontFamily}`;
  context.lineJoin = "round";
  return {
    ...{ context, width, height, viewport, textSize },
    colours: { line: colour("--line"), text: colour("--text"), accent: colour("--accent"), card: colour("--card") },
    lightness: document.documentElement.dataset.theme === "dark" ? 65 : 38,
    toPixel: (offset) => toPixel(viewport, { width, height }, offset),
    toOffset: (position) => toOffset(viewport.origin, position),
  };
}

/** With an outline in the background colour: readable on lines and trails. */
function drawText({ context, colours }: Surface, text: string, x: number, y: number): void {
  context.lineWidth = 4;
  context.strokeStyle = colours.card;
  context.strokeText(text, x, y);
  context.fillStyle = colours.text;
  context.fillText(text, x, y);
}

function tracePath(context: CanvasRenderingContext2D, points: readonly Pixel[]): void {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
}

const GRID_PIXELS = 120;

function drawGrid({ context, width, height, viewport, colours, toPixel }: Surface): void {
  const { centre, metresPerPixel } = viewport;
  const step = roundLength(metresPerPixel * GRID_PIXELS);
  const lines = (middle: number, half: number): readonly number[] => {
    const first = Math.ceil((middle - half) / step);
    return Array.from({ length: Math.floor((middle + half) / step) - first + 1 }, (_, i) => (first + i) * step);
  };
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const east of lines(centre[0], (width / 2) * metresPerPixel)) {
    const [x] = toPixel([east, 0]);
    context.moveTo(x, 0);
    context.lineTo(x, height);
  }
  for (const north of lines(centre[1], (height / 2) * metresPerPixel)) {
    const [, y] = toPixel([0, north]);
    context.moveTo(0, y);
    context.lineTo(width, y);
  }
  context.stroke();
}

function drawScale(surface: Surface): void {
  const { context, width, height, viewport, colours, textSize } = surface;
  const length = roundLength(viewport.metresPerPixel * Math.min(160, width / 4));
  const right = 16 + length / viewport.metresPerPixel;
  context.strokeStyle = colours.text;
  context.lineWidth = 2;
  tracePath(context, [
    [16, height - 22],
    [16, height - 16],
    [right, height - 16],
    [right, height - 22],
  ]);
  context.stroke();
  drawText(surface, formatLength(length), 22, height - 24);
  drawText(surface, "N ↑", width - textSize * 2.6, textSize + 8);
}

function formatLength(metres: number): string {
  if (metres >= 1000) return `${metres / 1000} km`;
  return metres >= 1 ? `${metres} m` : `${Math.round(metres * 100)} cm`;
}

const CAMERA_ARROW = [
  [0, -12],
  [8, 9],
  [0, 5],
  [-8, 9],
] as const;

function drawCamera(surface: Surface, camera: Camera): void {
  const { context, colours, toPixel, textSize } = surface;
  const [east, north] = surface.toOffset(camera);
  const [x, y] = toPixel([east, north]);
  context.strokeStyle = colours.accent;
  context.fillStyle = colours.accent;
  if (isPose(camera) && camera.rel_altitude > 0) {
    const corners = footprint(camera).map(([e, n]) => toPixel([east + e, north + n]));
    tracePath(context, corners);
    context.closePath();
    context.globalAlpha = 0.12;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.stroke();
  }
  context.save();
  context.translate(x, y);
  context.rotate(((camera.camera_yaw ?? 0) * Math.PI) / 180);
  tracePath(context, CAMERA_ARROW);
  context.closePath();
  context.fill();
  context.restore();
  const altitude = camera.rel_altitude === undefined ? "" : `, altitude ${Math.round(camera.rel_altitude)} m`;
  drawText(surface, `camera${altitude}`, x + 12, y + textSize);
}

/** Newer tracks are labelled first; a label that would overlap another one is left out. */
function drawTracks(surface: Surface, tracks: readonly MapTrack[]): void {
  const drawn = tracks.map((track) => ({ track, end: drawTrack(surface, track) }));
  const labels: Rect[] = [];
  for (const { track, end } of drawn.reverse()) if (end !== undefined) drawLabel(surface, track, end, labels);
}

/** Returns the current position. */
function drawTrack(surface: Surface, track: MapTrack): Pixel | undefined {
  const { context, viewport, lightness } = surface;
  const points = track.trail.map((position) => surface.toPixel(surface.toOffset(position)));
  const last = points.at(-1);
  if (last === undefined) return undefined;
  const colour = `hsl(${trackHue(track.id)} 75% ${lightness}%)`;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 2;
  tracePath(context, points);
  context.stroke();
  context.globalAlpha = 0.2;
  fillCircle(context, last, Math.max(4, track.errorM / viewport.metresPerPixel));
  context.globalAlpha = 1;
  fillCircle(context, last, 5);
  return last;
}

function fillCircle(context: CanvasRenderingContext2D, [x, y]: Pixel, radius: number): void {
  context.beginPath();
  context.arc(x, y, radius, 0, Math.PI * 2);
  context.fill();
}

interface Rect {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

function drawLabel(surface: Surface, { name, id, speedMps }: MapTrack, [x, y]: Pixel, labels: Rect[]): void {
  if (x < 0 || y < 0 || x > surface.width || y > surface.height) return;
  const text = `${name} ${id}${speedMps === null ? "" : ` ${speedMps.toFixed(1)} m/s`}`;
  const width = surface.context.measureText(text).width;
  // On the left of a track at the right edge.
  const left = x + 9 + width > surface.width ? x - 9 - width : x + 9;
  const baseline = y + surface.textSize / 3;
  const rect = { left, right: left + width, top: baseline - surface.textSize, bottom: baseline + 3 };
  if (labels.some((one) => overlaps(one, rect))) return;
  labels.push(rect);
  drawText(surface, text, left, baseline);
}

const overlaps = (a: Rect, b: Rect): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
