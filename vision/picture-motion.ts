import { findCorners } from "../native/motion.ts";
import type { CameraMotion } from "../schemas/camera-motion.ts";
import { follow } from "./flow.ts";
import { buildPyramid, chooseStep, type Grey, type LumaPlane, shrink } from "./grey.ts";
import { fitSimilarity } from "./similarity.ts";
import { chooseProbes, findShift, isStill } from "./still.ts";

const WIDEST = 240;
const LEVELS = 4;
const MOST_CORNERS = 48;
/** Corners are looked for in the picture of half the width: a quarter of the work, and steadier points. */
const CORNER_LEVEL = 1;
/** Where a shift is known roughly, the search for each corner begins here. */
const NEAR_LEVEL = 1;
/** Motions smaller than this many pixels of the small picture, all over it, are the noise of a camera that stands still. */
const NOISE = 0.05;
/** Cameras do not zoom or turn by more from one frame to the next; a motion that says so has matched something else. */
const MOST_CHANGE = 0.2;
/** Light changes and objects come to stand: after so many frames a camera that stands still is compared with a newer one. */
const REFERENCE_FRAMES = 15;

const STILL: CameraMotion = { a: 1, b: 0, right: 0, down: 0 };
const FROM_REST = { level: 0, right: 0, down: 0 } as const;

/** `[left, top, width, height]` in pixels of the frame. */
type FrameBox = readonly [number, number, number, number];

/** The frame that others are compared with: the last one, or while the camera stands still one a little older. */
interface Reference {
  readonly pyramid: readonly Grey[];
  readonly corners: Float32Array;
  readonly probes: Float32Array;
  readonly frameWidth: number;
}

/**
 * Tells by the brightness of successive frames how the camera moved. Keeps a small copy of one. A camera that stands still
 * costs a few points only; and as it is compared with the same frame for a while, it cannot creep away unnoticed.
 */
export class PictureMotion {
  #reference: Reference | null = null;
  /** The pyramid before that of the reference, or of a frame that was not kept: its memory is used again. */
  #spare: readonly Grey[] = [];
  #stillFrames = 0;

  /**
   * From the frame of the last call to this one; null when there was none or it is unsure. `objects` are the places in this
   * frame that may move by themselves.
   */
  next(plane: LumaPlane, objects: readonly FrameBox[]): CameraMotion | null {
    const step = chooseStep(plane.width, WIDEST);
    const small = shrink(plane, step, this.#spare[0]);
    const last = this.#reference;
    const isComparable = last?.frameWidth === plane.width && last.pyramid[0]?.height === small.height;
    const stands = isComparable && isStill(last.probes, follow(last.pyramid, [small], last.probes, FROM_REST), NOISE);
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
  // Points that can be found again, and not those of objects that move by themselves.
  const { data, width, height } = pyramid[CORNER_LEVEL] as Grey;
  const found = findCorners(data, width, height, Float64Array.from(excluded), MOST_CORNERS);
  // In pixels of the largest picture.
  const corners = found.map((place) => (place + 0.5) * 2 ** CORNER_LEVEL - 0.5);
  return { pyramid, corners, probes: chooseProbes(corners), frameWidth };
}

/** From pixels of the small picture to heights of the frame. */
function relate(motion: CameraMotion, { width, height }: Grey, step: number, frameHeight: number): CameraMotion {
  const { a, b, right, down } = motion;
  const isNoise = [0, width].every((x) =>
    [0, height].every((y) => Math.hypot(a * x - b * y + right - x, b * x + a * y + down - y) < NOISE),
  );
  if (isNoise) return STILL;
  // The first pixel of the small picture has its centre here, in the frame.
  const centre = (step - 1) / 2;
  return {
    a,
    b,
    right: (right * step + centre * (1 - a + b)) / frameHeight,
    down: (down * step + centre * (1 - a - b)) / frameHeight,
  };
}
