/**
 * A detector that reads the ground truth instead of the picture and adds realistic errors: inaccurate boxes, missed objects
 * at the edges, more misses during a pan, lost objects that stay lost for a while, and occasional false positives.
 */
import { Type } from "typebox";
import { type AnyElement, defineElement } from "../../elements/element.ts";
import type { Detection } from "../../schemas/detections.ts";
import type { TrueTarget, Truth } from "./truth.ts";
import { Random } from "./world.ts";

/** Standard deviation, relative to the width and height of a box. */
const BOX_NOISE = 0.04;
/** Probabilities per frame: loss without a pan, loss at the fastest pan, recovery. */
const LOSE = 0.02;
const LOSE_PANNING = 0.12;
const RECOVER = 0.2;
/** Probability of a miss in a single frame. */
const MISS = 0.08;
const FALSE_POSITIVE = 0.05;
/** Objects with a smaller visible share are never detected. */
const LEAST_SHARE = 0.4;
const FAST_DEG_PER_SECOND = 30;

export function simulateDetections(truth: Truth, seed: number): readonly (readonly Detection[])[] {
  const random = new Random(seed);
  const lost = new Set<number>();
  return truth.frames.map(({ camera, targets }, index) => {
    const before = truth.frames[Math.max(0, index - 1)]?.camera ?? camera;
    const turned = Math.abs(((camera.yaw - before.yaw + 540) % 360) - 180) * truth.fps;
    const lose = LOSE + (LOSE_PANNING - LOSE) * Math.min(1, turned / FAST_DEG_PER_SECOND);
    const seen = targets.flatMap((target) => {
      if (lost.has(target.id) ? random.next() < RECOVER : false) lost.delete(target.id);
      else if (random.next() < lose) lost.add(target.id);
      const isMissed = lost.has(target.id) || random.next() < MISS;
      const found = detect(target.box, truth, random);
      return isMissed || found === null ? [] : [found];
    });
    if (random.next() >= FALSE_POSITIVE) return seen;
    const stray = detect([random.next() * truth.lens.width, random.next() * truth.lens.height, 60, 25], truth, random);
    return stray === null ? seen : [...seen, stray];
  });
}

function detect(box: TrueTarget["box"], { lens }: Truth, random: Random): Detection | null {
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

export const SIMULATED_DETECTOR = "detect-simulated";

/** Replaces `detect`. */
export const simulatedDetector = (seen: readonly (readonly Detection[])[]): AnyElement =>
  defineElement({
    kind: "transform",
    name: SIMULATED_DETECTOR,
    about: "Test: writes simulated detections.",
    example: "",
    caps: "video/x-raw",
    properties: Type.Object({}),
    writes: ["detections"],
    create: () => ({
      process(frame) {
        const objects = [...(seen[frame.index] ?? [])];
        frame.write({ detections: { inferred: true, model: "simulated", confidence: 0.5, objects, weak: [] } });
      },
    }),
  });
