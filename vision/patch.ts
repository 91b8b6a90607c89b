/** Which part of a frame shows an object, and how well it shows it. Pure. */
import type { Box } from "../schemas/detections.ts";

/** In fractions of the frame, within it: what `frame.image` takes. */
export interface PatchRegion {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

interface PictureSize {
  readonly width: number;
  readonly height: number;
}

/** Around the box, of its sides: boxes are off by some of it, and a thing is told more easily with its surroundings. */
const MARGIN = 0.1;
/** A box that comes this near to an edge of the frame probably goes on beyond it. */
const EDGE = 0.004;
const CUT_OFF_SHARE = 0.5;
/** Of the square with the box's area. Nothing is gained by more pixels than these. */
const ENOUGH_PIXELS = 480;
/** A new picture costs work: by less than this share of the score it is not worth it. */
const CLEARLY_BETTER = 1.25;

/** The box with a margin, clipped to the frame. Null when nothing of it lies in the frame. */
export function choosePatch([left, top, width, height]: Box): PatchRegion | null {
  const x = span(left, width);
  const y = span(top, height);
  return x === null || y === null ? null : { x: x.from, y: y.from, width: x.extent, height: y.extent };
}

function span(from: number, extent: number): { from: number; extent: number } | null {
  const low = Math.max(0, from - extent * MARGIN);
  const high = Math.min(1, from + extent * (1 + MARGIN));
  // Written so that NaN is nothing too.
  return extent > 0 && from < 1 && from + extent > 0 && high > low ? { from: low, extent: high - low } : null;
}

/** Of two pictures of an object the one with the higher score is the better. From 0, which nobody should keep, to 1. */
export function ratePatch(
  { box, confidence }: { box: Box; confidence: number },
  { width, height }: PictureSize,
): number {
  const [left, top, wide, high] = box;
  if (choosePatch(box) === null) return 0;
  const pixels = Math.sqrt(wide * width * high * height);
  const isCutOff = left < EDGE || top < EDGE || left + wide > 1 - EDGE || top + high > 1 - EDGE;
  return confidence * Math.min(1, pixels / ENOUGH_PIXELS) * (isCutOff ? CUT_OFF_SHARE : 1);
}

/** Whether a picture of this score should take the place of the one that is there. */
export const isClearlyBetter = (score: number, before: number): boolean => score > before * CLEARLY_BETTER;
