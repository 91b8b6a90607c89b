/** Tracks: where they are, how surely, and where they came from. */
import { hueOf } from "../../live/colours.ts";
import type { Pixel } from "./look.ts";
import type { MapTrack } from "./scene.ts";
import { type Sheet, trace, write } from "./sheet.ts";

export function drawTracks(sheet: Sheet, tracks: readonly MapTrack[]): void {
  const ends = tracks.map((track) => drawTrack(sheet, track));
  const taken: Rect[] = [];
  // The newest have their words first; what would lie on others goes without.
  for (let i = tracks.length - 1; i >= 0; i -= 1) {
    const [track, end] = [tracks[i], ends[i]];
    if (track !== undefined && end !== undefined) label(sheet, track, end, taken);
  }
}

function drawTrack(sheet: Sheet, track: MapTrack): Pixel | undefined {
  const { context, look, colours } = sheet;
  const points = track.trail.map((spot) => sheet.place(sheet.offset(spot)));
  const last = points.at(-1);
  if (last === undefined) return undefined;
  const colour = `hsl(${hueOf(track.id)} 75% ${colours.lightness}%)`;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = 2;
  trace(sheet, points);
  context.stroke();
  context.globalAlpha = 0.2;
  dot(context, last, Math.max(4, track.errorM / look.metresPerPixel));
  context.globalAlpha = 1;
  dot(context, last, 5);
  return last;
}

function dot(context: CanvasRenderingContext2D, [x, y]: Pixel, radius: number): void {
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

function label(sheet: Sheet, { name, id, speedMps }: MapTrack, [x, y]: Pixel, taken: Rect[]): void {
  if (x < 0 || y < 0 || x > sheet.width || y > sheet.height) return;
  const text = `${name} ${id}${speedMps === null ? "" : ` ${speedMps.toFixed(1)} m/s`}`;
  const width = sheet.context.measureText(text).width;
  // To the left of what is at the right edge.
  const left = x + 9 + width > sheet.width ? x - 9 - width : x + 9;
  const middle = y + sheet.textSize / 3;
  const rect = { left, right: left + width, top: middle - sheet.textSize, bottom: middle + 3 };
  if (taken.some((one) => touches(one, rect))) return;
  taken.push(rect);
  write(sheet, text, left, middle);
}

const touches = (a: Rect, b: Rect): boolean =>
  a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
