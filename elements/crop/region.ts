/** The region of `crop`: edges in fractions, and the part of a frame that is left after rounding to even pixels. */
import type { Box } from "../../schemas/detections.ts";

type Edges = readonly [left: number, top: number, right: number, bottom: number];

/** Within the frame. */
export const edgesOf = ([left, top, width, height]: Box): Edges => [
  left,
  top,
  Math.min(left + width, 1),
  Math.min(top + height, 1),
];

interface Size {
  readonly width: number;
  readonly height: number;
}

/** What is left of a frame of that size, in fractions of it: as `native/src/region_crop.cc` rounds it. */
export function croppedPart(region: Box, { width, height }: Size): Box {
  const [left, top, right, bottom] = edgesOf(region);
  const [x, wide] = span(left, right, width);
  const [y, high] = span(top, bottom, height);
  return [x / width, y / height, wide / width, high / height];
}

function span(from: number, until: number, size: number): readonly [at: number, length: number] {
  const edge = (at: number): number => 2 * Math.round((at * size) / 2);
  const first = Math.min(Math.max(edge(from), 0), Math.max(size - 2, 0));
  const end = Math.min(Math.max(edge(until), Math.min(first + 2, size)), size);
  return [first, end - first];
}
