/** Whether two inferences found the same objects, by overlap. Pure. */
import type { Candidates } from "../../models/decode/decoder.ts";
import type { DetectionFilter } from "./request.ts";

/** Boxes of one object in successive inferences overlap by at least this share of their union. */
const LEAST_OVERLAP = 0.3;

/** An object that is detected with this share of the wanted confidence has not disappeared: its track continues. */
const KEPT_SHARE = 0.5;

type Wanted = Pick<DetectionFilter, "confidence" | "classIds">;

/** Of the wanted objects. Their class may differ: detectors confuse cars with trucks. */
export function hasSameObjects(before: Candidates, now: Candidates, wanted: Wanted): boolean {
  const old = listBoxes(before, wanted);
  const young = listBoxes(now, wanted);
  const kept = listBoxes(now, { ...wanted, confidence: wanted.confidence * KEPT_SHARE });
  return hasAll(old, kept) && hasAll(young, old);
}

type Box = Float32Array;

const listBoxes = ({ boxes, scores, classIds, count }: Candidates, wanted: Wanted): readonly Box[] =>
  Array.from({ length: count }, (_, index) => boxes.subarray(4 * index, 4 * index + 4)).filter(
    (_, index) => (scores[index] ?? 0) >= wanted.confidence && (wanted.classIds?.has(classIds[index] ?? -1) ?? true),
  );

const hasAll = (objects: readonly Box[], among: readonly Box[]): boolean =>
  objects.every((one) => among.some((other) => overlap(one, other) >= LEAST_OVERLAP));

/** Boxes are left, top, right, bottom. */
function overlap([left = 0, top = 0, right = 0, bottom = 0]: Box, [l = 0, t = 0, r = 0, b = 0]: Box): number {
  const width = Math.min(right, r) - Math.max(left, l);
  const height = Math.min(bottom, b) - Math.max(top, t);
  if (width <= 0 || height <= 0) return 0;
  const shared = width * height;
  return shared / ((right - left) * (bottom - top) + (r - l) * (b - t) - shared);
}
