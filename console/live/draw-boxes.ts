/** Boxes and labels over a picture, by fractions of it. */
import type { DetectionMessage, TrackEntry } from "../../client/client.ts";
import { colourOf } from "./colours.ts";

const INK = "#10151c";
/** In pixels of a page. */
const WORDS = { least: 11, most: 20, share: 1 / 48 };
/** On a smaller picture, labels leave out how sure it is. */
const WIDE_ENOUGH = 480;

interface Pen {
  readonly width: number;
  readonly height: number;
  readonly size: number;
  readonly isBrief: boolean;
}

/** `density`: pixels of the canvas in one of the page. */
export function drawBoxes(
  context: CanvasRenderingContext2D,
  { active_tracks }: DetectionMessage,
  density: number,
): void {
  const { width, height } = context.canvas;
  const size = Math.min(WORDS.most, Math.max(WORDS.least, (height / density) * WORDS.share)) * density;
  const pen = { width, height, size, isBrief: width / density < WIDE_ENOUGH };
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.lineWidth = Math.max(2, Math.round(size / 7));
  for (const track of active_tracks) drawBox(context, track, pen);
  // Over all boxes, so that every one can be read.
  for (const track of active_tracks) drawLabel(context, track, pen);
}

/** On whole pixels: lines between them would be soft, and pale. */
function drawBox(
  context: CanvasRenderingContext2D,
  { scaled_bbox, track_id }: TrackEntry,
  { width, height }: Pen,
): void {
  const [x, y, wide, high] = scaled_bbox;
  context.strokeStyle = colourOf(track_id);
  const [left, top] = [Math.round(x * width), Math.round(y * height)];
  context.strokeRect(left, top, Math.round((x + wide) * width) - left, Math.round((y + high) * height) - top);
}

/** Above its box, or within it where there is no room above; never beyond the picture. */
function drawLabel(context: CanvasRenderingContext2D, track: TrackEntry, { width, height, size, isBrief }: Pen): void {
  const [x, y] = track.scaled_bbox;
  const sure = isBrief ? "" : ` ${Math.round(track.confidence)} %`;
  const text = `${track.class_name}${track.track_id === 0 ? "" : ` ${track.track_id}`}${sure}`;
  const [room, tall] = [context.measureText(text).width + size / 2, size * 1.35];
  const left = Math.max(0, Math.min(x * width - context.lineWidth / 2, width - room));
  const top = y * height > tall ? y * height - tall : y * height;
  context.fillStyle = colourOf(track.track_id);
  context.fillRect(left, top, room, tall);
  context.fillStyle = INK;
  context.fillText(text, left + size / 4, top + tall / 2);
}
