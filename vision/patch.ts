/** The part of a frame that shows an object, and a score of how well it shows it. Pure. */
import type { Box } from "../schemas/detections.ts";

/** Fractions of the frame, clipped to it, as `frame.image` expects. */
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

/** Share of the box's sides added around it: boxes are inexact, and context helps recognition. */
const MARGIN = 0.1;
/** A box this close to an edge of the frame is probably cut off by it. */
const EDGE = 0.004;
const CUT_OFF_SHARE = 0.5;
/** Side of the square with the box's area; more pixels do not raise the score. */
const ENOUGH_PIXELS = 480;
/** Factor by which a new score must exceed the old one: encoding a new image costs time. */
const CLEARLY_BETTER = 1.25;

/** The box with a margin, clipped to the frame. Null when it lies outside of the frame. */
export function choosePatch([left, top, width, height]: Box): PatchRegion | null {
  const x = span(left, width);
  const y = span(top, height);
  return x === null || y === null ? null : { x: x.from, y: y.from, width: x.extent, height: y.extent };
}

function span(from: number, extent: number): { from: number; extent: number } | null {
  const low = Math.max(0, from - extent * MARGIN);
  const high = Math.min(1, from + extent * (1 + MARGIN));
  // Comparisons written so that NaN gives null.
  return extent > 0 && from < 1 && from + extent > 0 && high > low ? { from: low, extent: high - low } : null;
}

/** From 0 (not usable) to 1; the higher of two scores is the better image of an object. */
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

/** Whether an image with this score should replace the current one. */
export const isClearlyBetter = (score: number, before: number): boolean => score > before * CLEARLY_BETTER;
