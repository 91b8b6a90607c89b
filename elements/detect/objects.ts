/** Converts candidates in pixels of a tensor to detections in fractions of the frame. Pure. */
import type { Candidates } from "../../models/decode/decoder.ts";
import { mergeTiles } from "../../models/decode/merge.ts";
import type { Box, Detection, Detections } from "../../schemas/detections.ts";
import type { FrameFormat, TensorGeometry } from "../element.ts";
import type { DetectionFilter, DetectRequest, Region } from "./request.ts";

type Size = Pick<FrameFormat, "width" | "height">;

/** What was found in a frame, and in how many of its regions inference has run for it. */
export interface Found extends Candidates {
  readonly inferred: number;
}

/** Maps candidates to pixels of the frame; they may still reach beyond it. */
export function placeCandidates(candidates: Candidates, geometry: TensorGeometry): Candidates {
  const { scaleX, scaleY, offsetX, offsetY, originX, originY } = geometry;
  const boxes = new Float32Array(candidates.boxes.length);
  for (let at = 0; at < boxes.length; at += 2) {
    boxes[at] = ((candidates.boxes[at] ?? 0) - offsetX) / scaleX + originX;
    boxes[at + 1] = ((candidates.boxes[at + 1] ?? 0) - offsetY) / scaleY + originY;
  }
  return { ...candidates, boxes };
}

/** `candidates` are in pixels of a frame of that size; boxes are clipped to the analysed region. */
export function describeObjects(
  candidates: Found,
  size: Size,
  { regions, within, filter }: Pick<DetectRequest, "regions" | "within" | "filter">,
  model: string,
  labels: readonly string[],
): Detections {
  const seen: Detection[] = [];
  for (let index = 0; index < candidates.count; index++) {
    const classId = candidates.classIds[index] ?? -1;
    const className = labels[classId];
    if (className === undefined || (filter.classIds !== null && !filter.classIds.has(classId))) continue;
    const box = clip(candidates.boxes.subarray(4 * index, 4 * index + 4), size, within);
    const confidence = Math.min(candidates.scores[index] ?? 0, 1);
    if (box !== null && confidence >= filter.minimum) seen.push({ classId, className, confidence, box });
  }
  seen.sort((a, b) => b.confidence - a.confidence); // stable: equal scores keep their order
  return {
    inferred: true,
    ...(regions.length > 1 && { regions: candidates.inferred }),
    model,
    confidence: filter.confidence,
    objects: seen.filter(({ confidence }) => confidence >= filter.confidence),
    weak: seen.filter(({ confidence }) => confidence < filter.confidence && confidence >= filter.weak),
  };
}

/** For a frame without inference. `isStill`: its image has not changed since the last one. */
export const describeNothing = ({ confidence }: DetectionFilter, model: string, isStill = false): Detections => ({
  inferred: false,
  ...(isStill && { still: true }),
  model,
  confidence,
  objects: [],
  weak: [],
});

/** Null if the box lies outside the region. */
function clip(
  [left = 0, top = 0, right = 0, bottom = 0]: Float32Array,
  { width, height }: Size,
  region: Region,
): Box | null {
  const across = (value: number) => limit(value / width, region.x, region.x + region.width);
  const down = (value: number) => limit(value / height, region.y, region.y + region.height);
  const from = [across(left), down(top)] as const;
  const to = [across(right), down(bottom)] as const;
  return to[0] > from[0] && to[1] > from[1] ? [...from, to[0] - from[0], to[1] - from[1]] : null;
}

/** At most 1: sums of fractions may round up beyond the frame. */
const limit = (value: number, low: number, high: number): number => Math.min(Math.max(value, low), high, 1);

/** Limit per frame. */
const MAX_OBJECTS = 1000;

/** Merges the candidates of several regions of a frame, all in pixels of the frame. */
export function mergeRegions(
  lists: readonly Candidates[],
  regions: readonly Region[],
  frame: Size,
  overlap: number,
): Candidates {
  const [only] = lists;
  if (lists.length === 1 && only !== undefined) return only;
  const tiles = regions.flatMap(({ x, y, width, height }, index) => {
    const candidates = lists[index];
    if (candidates === undefined) return [];
    const edges = {
      left: x * frame.width,
      top: y * frame.height,
      right: (x + width) * frame.width,
      bottom: (y + height) * frame.height,
    };
    return [{ ...edges, candidates }];
  });
  return mergeTiles(tiles, frame, overlap, MAX_OBJECTS);
}
