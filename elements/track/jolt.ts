import type { TrackBox } from "./mot-tracker.ts";

/** Objects that take part, and how far they may have gone, in their own lengths. */
const MOST_OBJECTS = 30;
const LEAST_OBJECTS = 3;
const FURTHEST = 2.5;
/** Sizes of one object in two frames differ less. */
const SIZE_RATIO = 1.25;
/** Objects that agree with a shift are off by less than this part of their length. */
const TOLERANCE = 0.15;
/** Share of the objects that must agree, and how many more than with no shift. */
const LEAST_SHARE = 0.6;
const LEAST_GAIN = 1.5;

interface Step {
  readonly object: number;
  readonly right: number;
  readonly down: number;
  readonly length: number;
}

/**
 * A sudden shift of the camera, so far that objects are nowhere near where they were expected: the one shift that brings
 * most of them to a sighting. Null when there is none that is much better than standing still.
 */
export function findJolt(
  expected: readonly TrackBox[],
  sightings: readonly TrackBox[],
): { readonly right: number; readonly down: number } | null {
  const objects = expected.slice(0, MOST_OBJECTS);
  if (objects.length < LEAST_OBJECTS) return null;
  const steps = listSteps(objects, sightings);
  const least = Math.max(LEAST_SHARE * objects.length, countAgreeing(steps, 0, 0) + LEAST_GAIN);
  let best: Step | null = null;
  let bestCount = least;
  for (const step of steps) {
    const count = countAgreeing(steps, step.right, step.down);
    if (count > bestCount) {
      bestCount = count;
      best = step;
    }
  }
  return best;
}

function listSteps(objects: readonly TrackBox[], sightings: readonly TrackBox[]): readonly Step[] {
  const steps: Step[] = [];
  objects.forEach((from, object) => {
    const length = Math.max(from[2], from[3]);
    for (const to of sightings) {
      const right = to[0] + to[2] / 2 - from[0] - from[2] / 2;
      const down = to[1] + to[3] / 2 - from[1] - from[3] / 2;
      const ratio = to[3] / from[3];
      if (Math.abs(right) + Math.abs(down) > FURTHEST * length || ratio > SIZE_RATIO || ratio < 1 / SIZE_RATIO)
        continue;
      steps.push({ object, right, down, length });
    }
  });
  return steps;
}

/** Each object counts once, and the less the further it is off. */
function countAgreeing(steps: readonly Step[], right: number, down: number): number {
  let count = 0;
  let object = -1;
  let nearest = 0;
  for (const step of steps) {
    if (step.object !== object) {
      count += nearest;
      nearest = 0;
      object = step.object;
    }
    const off = ((step.right - right) ** 2 + (step.down - down) ** 2) / (TOLERANCE * step.length) ** 2;
    if (1 - off > nearest) nearest = 1 - off;
  }
  return count + nearest;
}
