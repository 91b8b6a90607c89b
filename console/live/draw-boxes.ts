/** Boxes and labels over a picture, by fractions of it. */
import type { DetectionMessage, TrackEntry } from "../../client/client.ts";

/** Far apart for neighbouring ids, and readable on light and dark ground. */
export const hueOf = (trackId: number): number => (trackId * 137.508) % 360;

export function drawBoxes(context: CanvasRenderingContext2D, detections: DetectionMessage): void {
  const { width, height } = context.canvas;
  const size = Math.max(12, Math.round(height / 40));
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.textBaseline = "top";
  for (const track of detections.active_tracks) drawTrack(context, track, { width, height, size });
}

function drawTrack(
  context: CanvasRenderingContext2D,
  { scaled_bbox, track_id, class_name, confidence }: TrackEntry,
  { width, height, size }: { width: number; height: number; size: number },
): void {
  const [x, y, wide, high] = scaled_bbox;
  const [left, top] = [x * width, y * height];
  const colour = `hsl(${hueOf(track_id)} 90% 60%)`;
  context.lineWidth = Math.max(2, size / 7);
  context.strokeStyle = colour;
  context.strokeRect(left, top, wide * width, high * height);
  const text = `${class_name}${track_id === 0 ? "" : ` ${track_id}`} ${Math.round(confidence)} %`;
  const room = context.measureText(text).width + size / 2;
  const above = top > size * 1.4 ? top - size * 1.35 : top;
  context.fillStyle = colour;
  context.fillRect(left - context.lineWidth / 2, above, room, size * 1.35);
  context.fillStyle = "#10151c";
  context.fillText(text, left + size / 5, above + size * 0.18);
}
