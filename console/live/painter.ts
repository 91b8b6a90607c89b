/** Draws frames with bounding boxes and labels on a canvas. */
import type { DetectionMessage, TrackEntry } from "../../client/client.ts";
import { trackColour } from "../components/format.ts";
import type { Pair } from "./pairing.ts";

const MAX_CANVAS_WIDTH = 3840;
const LABEL_COLOUR = "#10151c";
/** Size of labels: a fraction of the height, within limits in CSS pixels. */
const LABEL_SIZE = { min: 11, max: 20, fraction: 1 / 48 };
/** On a narrower frame, labels leave out the confidence. */
const MIN_CONFIDENCE_WIDTH = 480;

/** Decodes one frame at a time. Of the frames that arrive meanwhile, only the latest is drawn. */
export class Painter {
  readonly #canvas: () => HTMLCanvasElement | null;
  #next: Pair | null = null;
  #isBusy = false;

  constructor(canvas: () => HTMLCanvasElement | null) {
    this.#canvas = canvas;
  }

  paint(pairs: readonly Pair[]): void {
    this.#next = pairs.at(-1) ?? this.#next;
    if (!this.#isBusy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    for (let pair = this.#next; pair !== null; pair = this.#next) {
      this.#next = null;
      // A frame that cannot be decoded is skipped.
      await this.#draw(pair).catch(() => {});
    }
    this.#isBusy = false;
  }

  async #draw({ frame, detections }: Pair): Promise<void> {
    const image = await createImageBitmap(new Blob([frame.jpeg as BlobPart], { type: "image/jpeg" }));
    const canvas = this.#canvas();
    if (canvas !== null) paintFrame(canvas, { image, width: image.width, height: image.height }, detections);
    image.close();
    if (canvas !== null) markShown(canvas, frame.timestamp, detections);
  }
}

interface Picture extends Size {
  readonly image: CanvasImageSource;
}

interface Size {
  readonly width: number;
  readonly height: number;
}

type Boxes = Pick<DetectionMessage, "active_tracks">;

/** In one step: no box is ever seen on another frame. */
export function paintFrame(canvas: HTMLCanvasElement, { image, ...size }: Picture, detections: Boxes | null): void {
  const context = canvas.getContext("2d");
  if (context === null) return;
  const density = resize(canvas, size);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  if (detections !== null) drawBoxes(context, detections, density);
}

/** For tests: the frame that is shown. */
export function markShown(canvas: HTMLCanvasElement, timestamp: string, detections: Boxes | null): void {
  canvas.dataset.timestamp = timestamp;
  canvas.dataset.tracks = String(detections?.active_tracks.length ?? "");
}

/**
 * As wide as its parent and as high as its style allows, in device pixels: boxes and labels are sharp at any size. Returns
 * the number of canvas pixels per CSS pixel.
 */
function resize(canvas: HTMLCanvasElement, image: Size): number {
  const maxWidth = canvas.parentElement?.clientWidth ?? image.width;
  const maxHeight = Number.parseFloat(getComputedStyle(canvas).maxHeight) || image.height;
  const scale = Math.min(maxWidth / image.width, maxHeight / image.height);
  const shownWidth = image.width * scale;
  const density = Math.min(window.devicePixelRatio, MAX_CANVAS_WIDTH / shownWidth);
  const [width, height] = [Math.round(shownWidth * density), Math.round(image.height * scale * density)];
  if (canvas.width !== width || canvas.height !== height) {
    canvas.width = width;
    canvas.height = height;
    canvas.style.width = `${shownWidth}px`;
  }
  return density;
}

function drawBoxes(context: CanvasRenderingContext2D, { active_tracks }: Boxes, density: number): void {
  const { width, height } = context.canvas;
  const { min, max, fraction } = LABEL_SIZE;
  const size = Math.min(max, Math.max(min, (height / density) * fraction)) * density;
  context.font = `600 ${size}px system-ui, sans-serif`;
  context.textBaseline = "middle";
  context.lineWidth = Math.max(2, Math.round(size / 7));
  for (const track of active_tracks) drawBox(context, track);
  // Labels last, so that no box covers them.
  for (const track of active_tracks) drawLabel(context, track, size, width / density >= MIN_CONFIDENCE_WIDTH);
}

/** On whole pixels: lines between them would be blurred. */
function drawBox(context: CanvasRenderingContext2D, { scaled_bbox, track_id }: TrackEntry): void {
  const { width, height } = context.canvas;
  const [x, y, w, h] = scaled_bbox;
  context.strokeStyle = trackColour(track_id);
  const [left, top] = [Math.round(x * width), Math.round(y * height)];
  context.strokeRect(left, top, Math.round((x + w) * width) - left, Math.round((y + h) * height) - top);
}

/** Above its box, or inside at the top of the frame; never outside the frame. */
function drawLabel(
  context: CanvasRenderingContext2D,
  { class_name, confidence, scaled_bbox, track_id }: TrackEntry,
  size: number,
  hasConfidence: boolean,
): void {
  const { width, height } = context.canvas;
  const [x, y] = scaled_bbox;
  const text = `${class_name}${track_id === 0 ? "" : ` ${track_id}`}${hasConfidence ? ` ${Math.round(confidence)} %` : ""}`;
  const [labelWidth, labelHeight] = [context.measureText(text).width + size / 2, size * 1.35];
  const left = Math.max(0, Math.min(x * width - context.lineWidth / 2, width - labelWidth));
  const top = y * height > labelHeight ? y * height - labelHeight : y * height;
  context.fillStyle = trackColour(track_id);
  context.fillRect(left, top, labelWidth, labelHeight);
  context.fillStyle = LABEL_COLOUR;
  context.fillText(text, left + size / 4, top + labelHeight / 2);
}
