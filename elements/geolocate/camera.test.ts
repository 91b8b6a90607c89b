import assert from "node:assert/strict";
import { test } from "node:test";
import { azimuthDeg, elevationDeg, makeLens, offsetDown, offsetRight } from "./camera.ts";

const anglesOf = (hfov: number, vfov: number, x: number, y: number): [number, number] => {
  const lens = makeLens(hfov, vfov);
  const [right, down] = [offsetRight(lens, x), offsetDown(lens, y)];
  return [azimuthDeg(right), elevationDeg(right, down)];
};

const near = (found: [number, number], expected: [number, number]) => {
  for (const [i, value] of expected.entries()) assert.ok(Math.abs((found[i] ?? 0) - value) < 1e-9, `${found}`);
};

test("azimuth is positive to the right and elevation above, and they end with the fields of view", () => {
  near(anglesOf(80, 50, 0.5, 0.5), [0, 0]);
  near(anglesOf(80, 50, 1, 0.5), [40, 0]);
  near(anglesOf(80, 50, 0, 0.5), [-40, 0]);
  near(anglesOf(80, 50, 0.5, 0), [0, 25]);
  near(anglesOf(80, 50, 0.5, 1), [0, -25]);
});

test("turned by the azimuth and then up by the elevation, a camera looks at the point", () => {
  // 40 degrees to the right, the upper edge is 1 / cos 40° as far away: tan e = tan 25° cos 40°.
  const elevation = Math.atan(Math.tan((25 * Math.PI) / 180) * Math.cos((40 * Math.PI) / 180)) * (180 / Math.PI);
  near(anglesOf(80, 50, 1, 0), [40, elevation]);
});
