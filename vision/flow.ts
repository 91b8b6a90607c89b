import { followPoints } from "../native/motion.ts";
import type { Grey } from "./grey.ts";

/** Where to begin: with the picture of that number in the pyramid, expecting a shift in pixels of the largest. */
export interface FlowStart {
  readonly level: number;
  readonly right: number;
  readonly down: number;
}

/**
 * Where the points of one picture are in the next (Lucas and Kanade, from smaller pictures of both pyramids to the
 * largest). Points are x and y by turns, in pixels of the largest; what is not found is NaN.
 */
export function follow(
  before: readonly Grey[],
  after: readonly Grey[],
  points: Float32Array,
  { level, right, down }: FlowStart,
): Float32Array {
  const { width, height } = before[0] as Grey;
  const pictures = (pyramid: readonly Grey[]) => pyramid.map(({ data }) => data);
  return followPoints(pictures(before), pictures(after), width, height, points, level, right, down);
}
