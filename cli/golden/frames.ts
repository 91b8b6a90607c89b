/** Detection messages as frames with objects. */
import type { Json, JsonRecord } from "../../schemas/json.ts";
import type { Said } from "./golden.ts";

/** `[x, y, width, height]`. */
export type SeenBox = readonly [number, number, number, number];

export interface SeenObject {
  /** 0 without tracking. */
  readonly id: number;
  readonly classId: number;
  readonly className: string;
  /** In pixels of the input. */
  readonly box: SeenBox;
  /** In fractions of the frame. */
  readonly scaledBox: SeenBox;
  /** Percent. */
  readonly confidence: number;
  /** All other fields, such as the position on earth. */
  readonly others: JsonRecord;
}

export interface SeenFrame {
  /** Milliseconds from the beginning of the stream. */
  readonly timeMs: number;
  readonly objects: readonly SeenObject[];
  /** All other fields of the message. */
  readonly others: JsonRecord;
}

/** Null for any other message. */
export function readFrame({ message }: Said): SeenFrame | null {
  const { timestamp, active_tracks: tracks, ...others } = message;
  const timeMs = typeof timestamp === "string" ? Date.parse(timestamp) : Number.NaN;
  if (Number.isNaN(timeMs) || !Array.isArray(tracks)) return null;
  const objects = (tracks as readonly JsonRecord[]).map(readObject);
  if (objects.some((object) => object === null)) return null;
  return { timeMs, others, objects: objects as readonly SeenObject[] };
}

function readObject(entry: JsonRecord): SeenObject | null {
  const { track_id: id, class_id: classId, class_name: className, bbox, scaled_bbox, confidence, ...others } = entry;
  const [box, scaledBox] = [readBox(bbox), readBox(scaled_bbox)];
  if (typeof id !== "number" || typeof classId !== "number" || typeof className !== "string") return null;
  if (typeof confidence !== "number" || box === null || scaledBox === null) return null;
  return { id, classId, className, box, scaledBox, confidence, others };
}

function readBox(value: Json | undefined): SeenBox | null {
  const isBox = Array.isArray(value) && value.length === 4 && value.every((edge) => typeof edge === "number");
  return isBox ? (value as unknown as SeenBox) : null;
}

export function overlap(a: SeenBox, b: SeenBox): number {
  const width = Math.min(a[0] + a[2], b[0] + b[2]) - Math.max(a[0], b[0]);
  const height = Math.min(a[1] + a[3], b[1] + b[3]) - Math.max(a[1], b[1]);
  if (a.every((edge, index) => edge === b[index])) return 1;
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / (a[2] * a[3] + b[2] * b[3] - shared);
}

/** Left, top, right, bottom. */
export const edgesOf = ([x, y, width, height]: SeenBox): SeenBox => [x, y, x + width, y + height];

/** The greatest distance between corresponding edges. */
export function edgeDistance(a: SeenBox, b: SeenBox): number {
  const others = edgesOf(b);
  return Math.max(...edgesOf(a).map((edge, index) => Math.abs(edge - (others[index] ?? edge))));
}
