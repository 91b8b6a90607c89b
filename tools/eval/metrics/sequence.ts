/** What is scored: the true boxes of a sequence and those a tracker gave, frame by frame. */

/** Boxes of one frame. `boxes` has left, top, width and height for each id. */
export interface FrameBoxes {
  readonly ids: readonly number[];
  readonly boxes: Float64Array;
}

export interface MotSequence {
  readonly name: string;
  /** One for each frame, from the first. */
  readonly truth: readonly FrameBoxes[];
  /** As many as `truth`. */
  readonly results: readonly FrameBoxes[];
}
