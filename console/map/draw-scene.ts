/** Draws a scene on a canvas above the map: cameras with their footprints, tracks with their trails, the chosen position. */
import { trackHue } from "../components/format.ts";
import { type Bounds, gridLines } from "./positions.ts";
import type { Camera, MapTrack, Position, Scene } from "./scene.ts";

/** From the upper left corner of the map. */
export type Pixel = readonly [x: number, y: number];

export interface Projection {
  readonly bounds: Bounds;
  readonly metresPerPixel: number;
  toPixel(position: Position): Pixel;
}

export interface DrawOptions {
  readonly projection: Projection;
  /** Lines of latitude and longitude, where there is no background. */
  readonly hasGrid: boolean;
}

export function drawScene(canvas: HTMLCanvasElement, scene: Scene, { projection, hasGrid }: DrawOptions): void {
  const surface = prepare(canvas, projection);
  if (surface === null) return;
  if (hasGrid) drawGrid(surface);
  for (const camera of scene.cameras.values()) drawCamera(surface, camera);
  drawTracks(surface, [...scene.tracks.values()]);
  if (scene.mark !== null) drawMark(surface, surface.toPixel(scene.mark));
}

interface Surface extends Projection {
  readonly context: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly colours: Readonly<Record<"line" | "text" | "soft" | "accent" | "card" | "bad", string>>;
  /** Of track colours, in per cent: readable on the background. */
  readonly lightness: number;
  readonly textSize: number;
}

function prepare(canvas: HTMLCanvasElement, projection: Projection): Surface | null {
  const context = canvas.getContext("2d");
  if (context === null) return null;
  const scale = window.devicePixelRatio;
  const { clientWidth: width, clientHeight: height } = canvas;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(height * scale);
  context.scale(scale, scale);
  const style = getComputedStyle(canvas);
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim();
  const textSize = Number.parseFloat(style.fontSize) * 0.82;
  context.font = `${textSize}px ${style.fontFamily}`;
  context.lineJoin = "round";
  return {
    ...{ ...projection, context, width, height, textSize },
    colours: {
      ...{ line: colour("line"), text: colour("text"), soft: colour("soft"), accent: colour("accent") },
      ...{ card: colour("card"), bad: colour("bad") },
    },
    lightness: document.documentElement.dataset.theme === "dark" ? 65 : 38,
  };
}

/** With an outline in the background colour: readable on lines and trails. */
function drawText({ context, colours }: Surface, text: string, [x, y]: Pixel, colour = colours.text): void {
  context.lineWidth = 4;
  context.strokeStyle = colours.card;
  context.strokeText(text, x, y);
  context.fillStyle = colour;
  context.fillText(text, x, y);
}

function tracePath(context: CanvasRenderingContext2D, points: readonly Pixel[]): void {
  context.beginPath();
  for (const [x, y] of points) context.lineTo(x, y);
}

const GRID_PIXELS = 140;
/** The scale is below. */
const SCALE_PIXELS = 30;

function drawGrid(surface: Surface): void {
  const { context, width, height, bounds, colours, toPixel, textSize } = surface;
  const { south, north, west, east } = bounds;
  const meridians = gridLines(west, east, width / GRID_PIXELS).map((longitude) => ({
    ...{ value: longitude, at: toPixel({ latitude: north, longitude })[0] },
  }));
  const parallels = gridLines(south, north, height / GRID_PIXELS).map((latitude) => ({
    ...{ value: latitude, at: toPixel({ latitude, longitude: west })[1] },
  }));
  context.strokeStyle = colours.line;
  context.lineWidth = 1;
  context.beginPath();
  for (const { at } of meridians) {
    context.moveTo(at, 0);
    context.lineTo(at, height);
  }
  for (const { at } of parallels) {
    context.moveTo(0, at);
    context.lineTo(width, at);
  }
  context.stroke();
  for (const { at, value } of meridians) drawText(surface, formatDegrees(value), [at + 3, textSize + 2], colours.soft);
  for (const { at, value } of parallels)
    if (at < height - SCALE_PIXELS) drawText(surface, formatDegrees(value), [4, at - 4], colours.soft);
}

/** Beyond the date line, the longitude of the other side. */
const formatDegrees = (degrees: number): string => `${Number((degrees - 360 * Math.round(degrees / 360)).toFixed(6))}°`;

const CAMERA_ARROW = [
  [0, -12],
  [8, 9],
  [0, 5],
  [-8, 9],
] as const;

function drawCamera(surface: Surface, camera: Camera): void {
  const { context, colours, toPixel, textSize } = surface;
  const [x, y] = toPixel(camera);
  context.strokeStyle = colours.accent;
  context.fillStyle = colours.accent;
  if (camera.footprint !== undefined) {
    tracePath(
      context,
      camera.footprint.map(([latitude, longitude]) => toPixel({ latitude, longitude })),
    );
    context.closePath();
    context.globalAlpha = 0.15;
    context.fill();
    context.globalAlpha = 1;
    context.lineWidth = 1.5;
    context.stroke();
  }
  context.save();
  context.translate(x, y);
  context.rotate(((camera.heading ?? 0) * Math.PI) / 180);
  tracePath(context, CAMERA_ARROW);
  context.closePath();
  context.fill();
  context.lineWidth = 1.5;
  context.strokeStyle = colours.card;
  context.stroke();
  context.restore();
  const altitude = camera.altitude === undefined ? "" : `, altitude ${Math.round(camera.altitude)} m`;
  drawText(surface, `camera${altitude}`, [x + 12, y + textSize]);
}

const MARK_PIXELS = 12;

function drawMark({ context, colours }: Surface, [x, y]: Pixel): void {
  for (const [colour, width] of [
    [colours.card, 6],
    [colours.bad, 2.5],
  ] as const) {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.beginPath();
    context.moveTo(x - MARK_PIXELS, y);
    context.lineTo(x + MARK_PIXELS, y);
    context.moveTo(x, y - MARK_PIXELS);
    context.lineTo(x, y + MARK_PIXELS);
    context.stroke();
  }
}

/** Newer tracks are labelled first; a label that would overlap another one is left out. */
function drawTracks(surface: Surface, tracks: readonly MapTrack[]): void {
  const drawn = tracks.map((track) => ({ track, end: drawTrack(surface, track) }));
  const labels: Rect[] = [];
  for (const { track, end } of drawn.reverse()) if (end !== undefined) drawLabel(surface, track, end, labels);
}

/** Returns the current position. */
function drawTrack(surface: Surface, track: MapTrack): Pixel | undefined {
  const { context, metresPerPixel, lightness } = surface;
  const points = track.trail.map((position) => surface.toPixel(position));
  const last = points.at(-1);
  if (last === undefined) return undefined;
  const colour = `hsl(${trackHue(track.id)} 75% ${lightness}%)`;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 2;
  tracePath(context, points);
  context.stroke();
  context.globalAlpha = 0.2;
  fillCircle(context, last, Math.max(4, track.errorM / metresPerPixel));
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
  drawText(surface, text, [left, baseline]);
}

const overlaps = (a: Rect, b: Rect): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
