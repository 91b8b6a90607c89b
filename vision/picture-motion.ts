/** Camera motion between frames, estimated from the image alone: corners, optical flow, a robust similarity fit. */
import { findCorners } from "../native/kernels.ts";
import type { CameraMotion } from "../schemas/camera-motion.ts";
import { buildPyramid, chooseStep, follow, type Grey, type LumaPlane, shrink } from "./grey.ts";
import { fitSimilarity } from "./similarity.ts";

const WIDEST = 240;
const LEVELS = 4;
const MOST_CORNERS = 48;
/** Corners are detected in the image of half the width: a quarter of the work, and more stable points. */
const CORNER_LEVEL = 1;
/** Pyramid level at which the search for each corner starts when the shift is roughly known. */
const NEAR_LEVEL = 1;
/** Motion below this many pixels of the small image, at all its corners, is noise of a static camera. */
const NOISE = 0.05;
/** Cameras do not zoom or rotate by more between two frames: a larger estimate is a mismatch. */
const MOST_CHANGE = 0.2;
/** A static camera is compared with a newer frame after this many: light changes and objects stop. */
const REFERENCE_FRAMES = 15;
/** Corners that decide whether the camera is static, and estimate the shift if it is not. */
const PROBES = 12;
const LEAST_PROBES = 6;
/** Share of the probes that must be unmoved: objects may cover the others. */
const STILL_SHARE = 0.7;

const STILL: CameraMotion = { a: 1, b: 0, right: 0, down: 0 };
const FROM_REST = { level: 0, right: 0, down: 0 } as const;

/** `[left, top, width, height]` in pixels of the frame. */
type FrameBox = readonly [number, number, number, number];

/** The frame that others are compared with: the last one, or a slightly older one while the camera is static. */
interface Reference {
  readonly pyramid: readonly Grey[];
  readonly corners: Float32Array;
  readonly probes: Float32Array;
  readonly frameWidth: number;
}

/**
 * Estimates the camera motion from the luma of successive frames; keeps a small copy of one of them. For a static camera
 * only the probes are followed, always against the same frame, so that slow drift does not go undetected.
 */
export class PictureMotion {
  #reference: Reference | null = null;
  /** A pyramid no longer in use, whose memory is reused. */
  #spare: readonly Grey[] = [];
  #stillFrames = 0;

  /**
   * Motion from the frame of the last call to this one; null for the first frame and when the estimate is not reliable.
   * `objects` are areas of this frame that may move independently of the camera.
   */
  next(plane: LumaPlane, objects: readonly FrameBox[]): CameraMotion | null {
    const step = chooseStep(plane.width, WIDEST);
    const small = shrink(plane, step, this.#spare[0]);
    const last = this.#reference;
    const isComparable = last?.frameWidth === plane.width && last.pyramid[0]?.height === small.height;
    const stands = isComparable && isStill(last.probes, follow(last.pyramid, [small], last.probes, FROM_REST));
    this.#stillFrames = stands ? this.#stillFrames + 1 : 0;
    if (stands && this.#stillFrames % REFERENCE_FRAMES !== 0) {
      this.#spare = [small, ...this.#spare.slice(1)];
      return STILL;
    }
    const pyramid = buildPyramid(small, LEVELS, this.#spare);
    this.#reference = refer(pyramid, objects, step, plane.width);
    this.#spare = last?.pyramid ?? [];
    if (stands) return STILL;
    return isComparable ? compare(last, pyramid, step, plane.height) : null;
  }

  forget(): void {
    this.#reference = null;
  }
}

function compare(last: Reference, pyramid: readonly Grey[], step: number, frameHeight: number): CameraMotion | null {
  const far = { level: LEVELS - 1, right: 0, down: 0 };
  const shift = findShift(last.probes, follow(last.pyramid, pyramid, last.probes, far));
  const start = shift === null ? far : { level: NEAR_LEVEL, ...shift };
  const motion = fitSimilarity(last.corners, follow(last.pyramid, pyramid, last.corners, start));
  if (motion === null || Math.hypot(motion.a - 1, motion.b) > MOST_CHANGE) return null;
  return relate(motion, pyramid[0] as Grey, step, frameHeight);
}

function refer(pyramid: readonly Grey[], objects: readonly FrameBox[], step: number, frameWidth: number): Reference {
  const scale = step * 2 ** CORNER_LEVEL;
  const excluded = objects.flatMap(([left, top, width, height]) => [
    left / scale - 1,
    top / scale - 1,
    (left + width) / scale + 1,
    (top + height) / scale + 1,
  ]);
  // Corners outside of objects that may move.
  const { data, width, height } = pyramid[CORNER_LEVEL] as Grey;
  const found = findCorners(data, width, height, Float64Array.from(excluded), MOST_CORNERS);
  // In pixels of the largest image.
  const corners = found.map((place) => (place + 0.5) * 2 ** CORNER_LEVEL - 0.5);
  return { pyramid, corners, probes: chooseProbes(corners), frameWidth };
}

/** Converts from pixels of the small image to heights of the frame. */
function relate(motion: CameraMotion, { width, height }: Grey, step: number, frameHeight: number): CameraMotion {
  const { a, b, right, down } = motion;
  const isNoise = [0, width].every((x) =>
    [0, height].every((y) => Math.hypot(a * x - b * y + right - x, b * x + a * y + down - y) < NOISE),
  );
  if (isNoise) return STILL;
  // Frame coordinate of the centre of the small image's first pixel.
  const centre = (step - 1) / 2;
  return {
    a,
    b,
    right: (right * step + centre * (1 - a + b)) / frameHeight,
    down: (down * step + centre * (1 - a - b)) / frameHeight,
  };
}

/** Points are interleaved x and y. Takes every nth of them, as the strongest ones may be close together. */
function chooseProbes(points: Float32Array): Float32Array {
  const count = points.length / 2;
  const every = Math.max(1, Math.floor(count / PROBES));
  return points.filter((_, place) => (place >> 1) % every === 0 && place >> 1 < every * PROBES);
}

/** Lost points are NaN. Single points may move by more than `NOISE`; their mean must not. */
function isStill(before: Float32Array, after: Float32Array): boolean {
  let count = 0;
  let right = 0;
  let down = 0;
  for (let i = 0; i < before.length; i += 2) {
    const byRight = (after[i] as number) - (before[i] as number);
    const byDown = (after[i + 1] as number) - (before[i + 1] as number);
    if (!(Math.hypot(byRight, byDown) < 3 * NOISE)) continue;
    count++;
    right += byRight;
    down += byDown;
  }
  return count >= LEAST_PROBES && count >= (STILL_SHARE * before.length) / 2 && Math.hypot(right, down) < NOISE * count;
}

/** The median shift, or null when too few points were found. */
function findShift(before: Float32Array, after: Float32Array): { right: number; down: number } | null {
  const shifts = [...before.keys()].filter((i) => i % 2 === 0 && !Number.isNaN(after[i]));
  if (shifts.length < LEAST_PROBES) return null;
  const median = (offset: 0 | 1): number =>
    shifts.map((i) => (after[i + offset] as number) - (before[i + offset] as number)).toSorted((a, b) => a - b)[
      shifts.length >> 1
    ] as number;
  return { right: median(0), down: median(1) };
}
