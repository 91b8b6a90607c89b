/** Detection messages as what they tell: frames with objects. */
import type { JsonRecord } from "../../schemas/json.ts";
import type { Said } from "./golden.ts";

export interface SeenObject {
  /** 0 where nothing is tracked. */
  readonly id: number;
  readonly className: string;
  /** `[x, y, width, height]` in pixels of the input. */
  readonly box: readonly [number, number, number, number];
  /** Percent. */
  readonly confidence: number;
  /** What else is told of it, such as a place on the map. */
  readonly others: JsonRecord;
}

export interface SeenFrame {
  /** Milliseconds from the beginning of the stream. */
  readonly timeMs: number;
  readonly objects: readonly SeenObject[];
}

/** Null for a message that is something else. */
export function readFrame({ message }: Said): SeenFrame | null {
  const { timestamp, active_tracks: tracks } = message;
  const timeMs = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  if (Number.isNaN(timeMs) || !Array.isArray(tracks)) return null;
  const objects = (tracks as readonly JsonRecord[]).map(readObject);
  return objects.some((object) => object === null) ? null : { timeMs, objects: objects as readonly SeenObject[] };
}

function readObject(entry: JsonRecord): SeenObject | null {
  const { track_id: id, class_id: _, class_name: className, bbox, scaled_bbox: __, confidence, ...others } = entry;
  const isBox = Array.isArray(bbox) && bbox.length === 4 && bbox.every((edge) => typeof edge === "number");
  if (typeof id !== "number" || typeof className !== "string" || typeof confidence !== "number" || !isBox) return null;
  return { id, className, confidence, others, box: bbox as unknown as SeenObject["box"] };
}

export function overlap(a: SeenObject["box"], b: SeenObject["box"]): number {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  if (isSame(a, b)) return 1;
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (a[2] * a[3] + b[2] * b[3] - shared);
}

const isSame = (a: SeenObject["box"], b: SeenObject["box"]): boolean => a.every((edge, index) => edge === b[index]);

/** How far the edges that differ most are apart. */
export function edgeDistance(a: SeenObject["box"], b: SeenObject["box"]): number {
  const edges = (box: SeenObject["box"]) => [box[0], box[1], box[0] + box[2], box[1] + box[3]];
  const others = edges(b);
  return Math.max(...edges(a).map((edge, index) => Math.abs(edge - (others[index] ?? edge))));
}
