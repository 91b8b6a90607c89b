/**
 * A detector that looks at the truth instead of the picture, with the faults of a real one: boxes are a little off, what is
 * cut off or far away is often missed, everything is missed more often while the picture is smeared by a pan, an object
 * that is lost stays lost for a moment, and now and then there is something where nothing is.
 */
import { Type } from "typebox";
import { type AnyElement, defineElement } from "../../elements/element.ts";
import type { Detection } from "../../schemas/detections.ts";
import { Random } from "./random.ts";
import type { TrueTarget, Truth } from "./truth.ts";

/** Of the width and height of a box, one standard deviation. */
const BOX_NOISE = 0.04;
/** Of being lost in a frame, standing and at the fastest pan, and of being found again. */
const LOSE = 0.02;
const LOSE_PANNING = 0.12;
const FIND_AGAIN = 0.2;
/** Of being missed for one frame. */
const MISS = 0.08;
const SURPLUS = 0.05;
/** Less of an object than this in the picture is never seen. */
const LEAST_SHARE = 0.4;
const FAST_DEG_A_SECOND = 30;

export function detectOnPaper(truth: Truth, seed: number): readonly (readonly Detection[])[] {
  const random = new Random(seed);
  const lost = new Set<number>();
  return truth.frames.map(({ camera, targets }, index) => {
    const before = truth.frames[Math.max(0, index - 1)]?.camera ?? camera;
    const turned = Math.abs(((camera.yaw - before.yaw + 540) % 360) - 180) * truth.fps;
    const lose = LOSE + (LOSE_PANNING - LOSE) * Math.min(1, turned / FAST_DEG_A_SECOND);
    const seen = targets.flatMap((target) => {
      if (lost.has(target.id) ? random.next() < FIND_AGAIN : false) lost.delete(target.id);
      else if (random.next() < lose) lost.add(target.id);
      const isMissed = lost.has(target.id) || random.next() < MISS;
      const found = see(target.box, truth, random);
      return isMissed || found === null ? [] : [found];
    });
    if (random.next() >= SURPLUS) return seen;
    const stray = see([random.next() * truth.lens.width, random.next() * truth.lens.height, 60, 25], truth, random);
    return stray === null ? seen : [...seen, stray];
  });
}

function see(box: TrueTarget["box"], { lens }: Truth, random: Random): Detection | null {
  const [left, top, width, height] = box.map(
    (value, side) => value + random.normal() * BOX_NOISE * (box[2 + (side % 2)] ?? 0),
  ) as [number, number, number, number];
  const [x1, y1] = [Math.max(0, left), Math.max(0, top)];
  const [x2, y2] = [Math.min(lens.width, left + width), Math.min(lens.height, top + height)];
  if ((Math.max(0, x2 - x1) * Math.max(0, y2 - y1)) / (box[2] * box[3]) < LEAST_SHARE) return null;
  return {
    classId: 2,
    className: "car",
    confidence: 0.55 + random.next() * 0.4,
    box: [x1 / lens.width, y1 / lens.height, (x2 - x1) / lens.width, (y2 - y1) / lens.height],
  };
}

export const PAPER_DETECTOR = "detect-on-paper";

/** In the place of `detect`. */
export const paperDetector = (seen: readonly (readonly Detection[])[]): AnyElement =>
  defineElement({
    kind: "transform",
    name: PAPER_DETECTOR,
    about: "Test: says what was written down before.",
    example: "",
    caps: "video/x-raw",
    properties: Type.Object({}),
    writes: ["detections"],
    create: () => ({
      process(frame) {
        const objects = [...(seen[frame.index] ?? [])];
        frame.write({ detections: { inferred: true, model: "paper", confidence: 0.5, objects, weak: [] } });
      },
    }),
  });
