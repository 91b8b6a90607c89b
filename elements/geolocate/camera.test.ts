import assert from "node:assert/strict";
import { test } from "node:test";
import type { Box } from "../../schemas/detections.ts";
import { azimuthDeg, elevationDeg, estimateDistanceM, makeLens, offsetDown, offsetRight } from "./camera.ts";
import { findKind } from "./sizes.ts";

const anglesOf = (hfov: number, vfov: number, x: number, y: number): [number, number] => {
  const lens = makeLens(hfov, vfov);
  const [right, down] = [offsetRight(lens, x), offsetDown(lens, y)];
  return [azimuthDeg(right), elevationDeg(right, down)];
};

const nearAngles = (found: [number, number], expected: [number, number]) => {
  for (const [i, value] of expected.entries()) assert.ok(Math.abs((found[i] ?? 0) - value) < 1e-9, `${found}`);
};

test("azimuth is positive to the right, elevation is positive upwards, both up to half the field of view", () => {
  nearAngles(anglesOf(80, 50, 0.5, 0.5), [0, 0]);
  nearAngles(anglesOf(80, 50, 1, 0.5), [40, 0]);
  nearAngles(anglesOf(80, 50, 0, 0.5), [-40, 0]);
  nearAngles(anglesOf(80, 50, 0.5, 0), [0, 25]);
  nearAngles(anglesOf(80, 50, 0.5, 1), [0, -25]);
});

test("a camera rotated by the azimuth and then by the elevation points at the point", () => {
  // 40 degrees to the right, the upper edge is 1 / cos 40° as far away: tan e = tan 25° cos 40°.
  const elevation = Math.atan(Math.tan((25 * Math.PI) / 180) * Math.cos((40 * Math.PI) / 180)) * (180 / Math.PI);
  nearAngles(anglesOf(80, 50, 1, 0), [40, elevation]);
});

/** Sees 2 m by 2 m at a distance of 1 m. */
const LENS = makeLens(90, 90);
const near = (found: number | null, expected: number, part = 1e-3) =>
  assert.ok(found !== null && Math.abs(found / expected - 1) < part, `${found} m and not ${expected}`);

test("an object that fills a tenth of an image 2 d high is 0.2 d high", () => {
  const person = findKind("person").size;
  assert.ok(person);
  // 1.7 m / 0.2, for any width.
  near(estimateDistanceM(person, LENS, [0.48, 0.45, 0.04, 0.1]), 8.5);
  near(estimateDistanceM(person, LENS, [0.4, 0.45, 0.2, 0.1]), 8.5);
});

test("uses the product of height and width if both are known", () => {
  const size = { heightM: 2, widthM: 8 };
  near(estimateDistanceM(size, LENS, [0.45, 0.475, 0.1, 0.05]), Math.sqrt((2 / 0.1) * (8 / 0.2)));
  near(estimateDistanceM({ heightM: null, widthM: 8 }, LENS, [0.45, 0.475, 0.1, 0.05]), 40);
});

test("compensates for the larger projection at the edge of a wide image", () => {
  // 0.1 m at 1 m, held at 45 degrees to the right, across the ray: seen from tan(45° - 2.862°) to tan(45° + 2.862°).
  const half = Math.atan(0.05);
  const [low, high] = [Math.tan(Math.PI / 4 - half), Math.tan(Math.PI / 4 + half)];
  const wide = makeLens(120, 90);
  const across = (tangent: number): number => 0.5 + tangent / (2 * wide.halfWidth);
  near(
    estimateDistanceM({ heightM: null, widthM: 0.1 }, wide, [across(low), 0.45, across(high) - across(low), 0.1]),
    1,
  );
});

test("gives no distance for a box that is cut off or empty", () => {
  const size = { heightM: 1, widthM: 1 };
  const cut: Box[] = [
    [0, 0.4, 0.1, 0.1],
    [0.4, 0, 0.1, 0.1],
    [0.9, 0.4, 0.1, 0.1],
    [0.4, 0.9, 0.1, 0.1],
    [0.4, 0.4, 0, 0],
  ];
  for (const box of cut) assert.equal(estimateDistanceM(size, LENS, box), null, `${box}`);
});

test("finds the size of a class for any spelling", () => {
  assert.deepEqual(findKind("Awning-Tricycle"), findKind("awning_tricycle"));
  assert.equal(findKind("awning tricycle").size?.heightM, 1.6);
  assert.equal(findKind("AIRPLANE").isAirborne, true);
  assert.equal(findKind("drone").isAirborne, true);
  assert.equal(findKind("car").isAirborne, false);
  assert.deepEqual(findKind("no such thing"), { isAirborne: false, size: null });
  assert.deepEqual(findKind("constructor"), { isAirborne: false, size: null });
});
