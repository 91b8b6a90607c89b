/** Sequences for tests, written as what is in each frame. */
import type { FrameBoxes, MotSequence } from "./compare.ts";

export type Box = readonly [left: number, top: number, width: number, height: number];
/** The boxes of a frame by id. */
export type Boxes = Readonly<Record<number, Box>>;

export const frame = (boxes: Boxes): FrameBoxes => ({
  ids: Object.keys(boxes).map(Number),
  boxes: Float64Array.from(Object.values(boxes).flat()),
});

/** Each frame has the true boxes and the results. */
export const sequence = (frames: readonly (readonly [truth: Boxes, results: Boxes])[], name = "made"): MotSequence => ({
  name,
  truth: frames.map(([truth]) => frame(truth)),
  results: frames.map(([, results]) => frame(results)),
});

/** A square of 10 × 10; squares at different places do not touch. */
export const square = (place = 0): Box => [place * 100, 0, 10, 10];
/** Lies within `square(place)` and overlaps it by this much. */
export const part = (overlap: number, place = 0): Box => [place * 100, 0, 10, 10 * overlap];
