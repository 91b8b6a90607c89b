import type { CameraMotion } from "../../../schemas/camera-motion.ts";
import { findCorners } from "./corners.ts";
import { Flow } from "./flow.ts";
import { buildPyramid, chooseStep, type Grey, type LumaPlane, shrink } from "./grey.ts";
import { fitSimilarity } from "./similarity.ts";

const WIDEST = 320;
const LEVELS = 4;
const MOST_CORNERS = 80;
/** Corners are looked for in the picture of half the width: a quarter of the work, and steadier points. */
const CORNER_LEVEL = 1;
/** Motions smaller than this many pixels of the small picture, all over it, are the noise of a camera that stands still. */
const NOISE = 0.05;
/** Cameras do not zoom or turn by more from one frame to the next; a motion that says so has matched something else. */
const MOST_CHANGE = 0.2;

const STILL: CameraMotion = { a: 1, b: 0, right: 0, down: 0 };

/** `[left, top, width, height]` in pixels of the frame. */
type FrameBox = readonly [number, number, number, number];

/** Tells by the brightness of successive frames how the camera moved. Keeps a small copy of the last one. */
export class PictureMotion {
  readonly #flow = new Flow();
  #last: { readonly pyramid: readonly Grey[]; readonly corners: Float32Array; readonly frameWidth: number } | null =
    null;

  /**
   * From the frame of the last call to this one; null when there was none or it is unsure. `objects` are the places in this
   * frame that may move by themselves.
   */
  next(plane: LumaPlane, objects: readonly FrameBox[]): CameraMotion | null {
    const step = chooseStep(plane.width, WIDEST);
    const pyramid = buildPyramid(shrink(plane, step), LEVELS);
    const last = this.#last;
    this.#last = { pyramid, corners: listCorners(pyramid, objects, step), frameWidth: plane.width };
    if (last === null || last.frameWidth !== plane.width || !isSameSize(last.pyramid, pyramid)) return null;
    const motion = fitSimilarity(last.corners, this.#flow.follow(last.pyramid, pyramid, last.corners));
    if (motion === null || Math.hypot(motion.a - 1, motion.b) > MOST_CHANGE) return null;
    return relate(motion, pyramid[0] as Grey, step, plane.height);
  }

  forget(): void {
    this.#last = null;
  }
}

const isSameSize = (a: readonly Grey[], b: readonly Grey[]): boolean => a[0]?.height === b[0]?.height;

/** In pixels of the largest picture of the pyramid. */
function listCorners(pyramid: readonly Grey[], objects: readonly FrameBox[], step: number): Float32Array {
  const scale = step * 2 ** CORNER_LEVEL;
  const excluded = objects.map(([left, top, width, height]) => ({
    left: left / scale - 1,
    top: top / scale - 1,
    right: (left + width) / scale + 1,
    bottom: (top + height) / scale + 1,
  }));
  const corners = findCorners(pyramid[CORNER_LEVEL] as Grey, excluded, MOST_CORNERS);
  return corners.map((place) => (place + 0.5) * 2 ** CORNER_LEVEL - 0.5);
}

/** From pixels of the small picture to heights of the frame. */
function relate(motion: CameraMotion, { width, height }: Grey, step: number, frameHeight: number): CameraMotion {
  const { a, b, right, down } = motion;
  const isStill = [0, width].every((x) =>
    [0, height].every((y) => Math.hypot(a * x - b * y + right - x, b * x + a * y + down - y) < NOISE),
  );
  if (isStill) return STILL;
  // The first pixel of the small picture has its centre here, in the frame.
  const centre = (step - 1) / 2;
  return {
    a,
    b,
    right: (right * step + centre * (1 - a + b)) / frameHeight,
    down: (down * step + centre * (1 - a - b)) / frameHeight,
  };
}
