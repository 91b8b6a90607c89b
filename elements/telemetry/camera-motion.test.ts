import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { CameraMotion } from "../../schemas/camera-motion.ts";
import { type Camera, findCameraMotion, findCentreShift } from "./camera-motion.ts";
import { toQuaternion } from "./geometry.ts";
import { toSpot } from "./samples.ts";

const ASPECT = 16 / 9;
const VIEW = { hfov: 60, vfov: (2 * (Math.atan(Math.tan(Math.PI / 6) / ASPECT) * 180)) / Math.PI };
const RADIANS = Math.PI / 180;

interface Stand {
  readonly yaw: number;
  readonly pitch: number;
  readonly roll: number;
  readonly northM: number;
  readonly eastM: number;
  readonly heightM: number;
}
const STAND: Stand = { yaw: 0, pitch: -45, roll: 0, northM: 0, eastM: 0, heightM: 100 };

/** Near the equator, where a metre is about the same angle to the north and to the east. */
function stand(given: Partial<Stand>, view = VIEW): Camera {
  const { yaw, pitch, roll, northM, eastM, heightM } = { ...STAND, ...given };
  const position = {
    latitude: northM / 110_574.2756,
    longitude: eastM / 111_319.4908,
    altitude: 50 + heightM,
    relAltitude: heightM,
  };
  return { view, attitude: toQuaternion({ yaw, pitch, roll }), spot: toSpot(position) };
}

/** Projects a point of the ground to the image by elementary rotations. */
function project(given: Partial<Stand>, northM: number, eastM: number): readonly [number, number] {
  const { yaw, pitch, roll, ...at } = { ...STAND, ...given };
  const [n, e] = [northM - at.northM, eastM - at.eastM];
  const ahead = n * Math.cos(yaw * RADIANS) + e * Math.sin(yaw * RADIANS);
  const right = e * Math.cos(yaw * RADIANS) - n * Math.sin(yaw * RADIANS);
  const depth = ahead * Math.cos(pitch * RADIANS) - at.heightM * Math.sin(pitch * RADIANS);
  const down = ahead * Math.sin(pitch * RADIANS) + at.heightM * Math.cos(pitch * RADIANS);
  const focal = ASPECT / 2 / Math.tan((VIEW.hfov / 2) * RADIANS);
  const [x, y] = [right / depth, down / depth];
  return [
    ASPECT / 2 + focal * (x * Math.cos(roll * RADIANS) + y * Math.sin(roll * RADIANS)),
    0.5 + focal * (y * Math.cos(roll * RADIANS) - x * Math.sin(roll * RADIANS)),
  ];
}

const apply = ({ a, b, right, down }: CameraMotion, [x, y]: readonly [number, number]) =>
  [a * x - b * y + right, b * x + a * y + down] as const;

const near = (actual: number, expected: number, within: number): void =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected}`);

test("a still camera gives no motion", () => {
  const motion = findCameraMotion(stand({}), stand({}), ASPECT);
  assert.ok(motion !== null);
  for (const [value, expected] of [
    [motion.a, 1],
    [motion.b, 0],
    [motion.right, 0],
    [motion.down, 0],
  ] as const)
    near(value, expected, 1e-12);
});

test("a pan to the right moves the image to the left, in proportion to the field of view", () => {
  const shift = findCentreShift(stand({ pitch: 0 }), stand({ pitch: 0, yaw: 1 }), ASPECT);
  const focal = ASPECT / 2 / Math.tan(30 * RADIANS);
  near(shift?.[0] ?? 0, -focal * Math.tan(RADIANS), 1e-9);
  near(shift?.[1] ?? 1, 0, 1e-9);
});

test("a roll rotates the image the other way about its middle", () => {
  const motion = findCameraMotion(stand({}), stand({ roll: 2 }), ASPECT);
  assert.ok(motion !== null);
  near(Math.atan2(motion.b, motion.a) / RADIANS, -2, 1e-6);
  const [x, y] = apply(motion, [ASPECT / 2, 0.5]);
  near(x, ASPECT / 2, 1e-9);
  near(y, 0.5, 1e-9);
});

test("a zoom scales the image up", () => {
  const closer = {
    hfov: 2 * (Math.atan(Math.tan(30 * RADIANS) / 1.1) / RADIANS),
    vfov: 2 * (Math.atan(Math.tan((VIEW.vfov / 2) * RADIANS) / 1.1) / RADIANS),
  };
  near(findCameraMotion(stand({}), stand({}, closer), ASPECT)?.a ?? 0, 1.1, 1e-9);
});

test("a climb over the ground scales the image down", () => {
  near(findCameraMotion(stand({ pitch: -90 }), stand({ pitch: -90, heightM: 110 }), ASPECT)?.a ?? 0, 100 / 110, 1e-6);
});

test("the motion of a flight step agrees with the projection of the ground", () => {
  const change = fc.double({ min: -0.3, max: 0.3, noNaN: true });
  const step = fc.record({ yaw: change, pitch: change, roll: change, northM: change, eastM: change, heightM: change });
  const start = fc.record({
    yaw: fc.double({ min: -180, max: 180, noNaN: true }),
    pitch: fc.double({ min: -90, max: -40, noNaN: true }),
    roll: fc.double({ min: -3, max: 3, noNaN: true }),
  });
  fc.assert(
    fc.property(start, step, (from, by) => {
      const before = { ...STAND, ...from };
      const after = {
        yaw: before.yaw + by.yaw,
        pitch: Math.max(-90, before.pitch + by.pitch),
        roll: before.roll + by.roll,
        northM: by.northM,
        eastM: by.eastM,
        heightM: 100 + by.heightM,
      };
      const motion = findCameraMotion(stand(before), stand(after), ASPECT);
      assert.ok(motion !== null);
      const foot = 100 / Math.tan(-before.pitch * RADIANS);
      for (const [ahead, aside] of [
        [0, 0],
        [8, 8],
        [-8, 8],
        [8, -8],
      ] as const) {
        const [sine, cosine] = [Math.sin(before.yaw * RADIANS), Math.cos(before.yaw * RADIANS)];
        const ground = [(foot + ahead) * cosine - aside * sine, (foot + ahead) * sine + aside * cosine] as const;
        const [x, y] = apply(motion, project(before, ...ground));
        const [toX, toY] = project(after, ...ground);
        assert.ok(Math.hypot(toX - x, toY - y) < 0.001, `${Math.hypot(toX - x, toY - y)} heights off`);
      }
    }),
  );
});

test("without a position only rotation counts, and above the horizon translation has no effect", () => {
  const turned = findCameraMotion({ ...stand({}), spot: null }, { ...stand({ yaw: 1 }), spot: null }, ASPECT);
  assert.ok(turned !== null && turned.right < 0);
  const up = findCameraMotion(stand({ pitch: 40 }), stand({ pitch: 40, northM: 5 }), ASPECT);
  near(up?.down ?? 1, 0, 1e-9);
});

test("images without overlap have no motion", () => {
  assert.equal(findCameraMotion(stand({ pitch: 0 }), stand({ pitch: 0, yaw: 180 }), ASPECT), null);
});
