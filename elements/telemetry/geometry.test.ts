import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  findTurn,
  measure,
  type Quaternion,
  rotate,
  rotateBack,
  toAttitude,
  toPlace,
  toQuaternion,
  toUp,
  turnBy,
  type Vector,
} from "./geometry.ts";
import { FLIGHT, TURNING } from "./samples.ts";

const angle = (most: number) => fc.double({ min: -most, max: most, noNaN: true });
const attitude = fc.record({ yaw: angle(180), pitch: angle(90), roll: angle(180) });
const nearVector = (actual: Vector, expected: Vector, within = 1e-9): void =>
  assert.ok(
    actual.every((value, i) => Math.abs(value - (expected[i] as number)) <= within),
    `${actual} is not ${expected}`,
  );
/** Angle between two attitudes. */
const apart = (a: Quaternion, b: Quaternion): number => Math.hypot(...findTurn(a, b));

for (const [what, given, forward, right] of [
  ["level and north", { yaw: 0, pitch: 0, roll: 0 }, [1, 0, 0], [0, 1, 0]],
  ["east", { yaw: 90, pitch: 0, roll: 0 }, [0, 1, 0], [-1, 0, 0]],
  ["down, the top of the picture to the north", { yaw: 0, pitch: -90, roll: 0 }, [0, 0, 1], [0, 1, 0]],
  ["down, the top to the east", { yaw: 90, pitch: -90, roll: 0 }, [0, 0, 1], [-1, 0, 0]],
  ["north, turned clockwise", { yaw: 0, pitch: 0, roll: 90 }, [1, 0, 0], [0, 0, 1]],
] as const) {
  test(`converts the attitude of a camera that points ${what}`, () => {
    nearVector(rotate(toQuaternion(given), [1, 0, 0]), forward);
    nearVector(rotate(toQuaternion(given), [0, 1, 0]), right);
  });
}

test("the attitude round trip is exact, also straight down and up", () => {
  fc.assert(
    fc.property(
      fc.oneof(attitude, fc.record({ yaw: angle(180), pitch: fc.constantFrom(-90, 90), roll: angle(180) })),
      (given) => {
        const turned = toQuaternion(given);
        assert.ok(apart(toQuaternion(toAttitude(turned)), turned) < 1e-5);
        nearVector(rotateBack(turned, rotate(turned, [1, 2, 3])), [1, 2, 3]);
      },
    ),
  );
});

test("the rotation between two attitudes maps one to the other, by at most 180 degrees", () => {
  fc.assert(
    fc.property(attitude, attitude, (a, b) => {
      const [from, to] = [toQuaternion(a), toQuaternion(b)];
      const turn = findTurn(from, to);
      assert.ok(Math.hypot(...turn) <= 180 + 1e-9);
      assert.ok(apart(turnBy(from, turn), to) < 1e-5);
    }),
  );
});

test("half of a pan over north is north, and not south", () => {
  const middle = toAttitude(
    TURNING.move(toQuaternion({ yaw: 350, pitch: -30, roll: 0 }), toQuaternion({ yaw: 10, pitch: -30, roll: 0 }), 0.5),
  );
  assert.ok(Math.abs(middle.yaw) < 1e-9);
  assert.ok(Math.abs(middle.pitch + 30) < 1e-9);
});

test("a pan at constant pitch is interpolated evenly in yaw", () => {
  fc.assert(
    fc.property(
      angle(180),
      angle(85),
      angle(170),
      fc.double({ min: 0, max: 1, noNaN: true }),
      (yaw, pitch, by, share) => {
        const at = (share: number) => toQuaternion({ yaw: yaw + by * share, pitch, roll: 3 });
        assert.ok(apart(TURNING.move(at(0), at(1), share), at(share)) < 1e-5);
      },
    ),
  );
});

test("looking down, different angles of the same view give no rotation", () => {
  const one = toQuaternion({ yaw: 0, pitch: -90, roll: 0 });
  const other = toQuaternion({ yaw: 180, pitch: -90, roll: 180 });
  assert.ok(apart(one, other) < 1e-5);
  assert.ok(apart(TURNING.move(one, other, 0.5), one) < 1e-5);
});

const near = (actual: number, expected: number, within: number): void =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected}`);

test("the position round trip is exact everywhere", () => {
  const latitude = fc.double({ min: -90, max: 90, noNaN: true });
  const longitude = fc.double({ min: -180, max: 180, noNaN: true });
  fc.assert(
    fc.property(latitude, longitude, (lat, lon) => {
      const [northM, eastM] = measure(
        toUp(lat, lon),
        toUp(toPlace(toUp(lat, lon)).latitude, toPlace(toUp(lat, lon)).longitude),
      );
      assert.ok(Math.hypot(northM, eastM) < 1e-6);
    }),
  );
});

test("lengths of degrees follow WGS-84", () => {
  // A minute of arc along the equator is 1855.325 m; along the meridian 1842.905 m at the equator and 1861.566 m at a pole.
  near(measure(toUp(0, 0), toUp(0, 1 / 60))[1], 1855.325, 0.01);
  near(measure(toUp(-1 / 120, 7), toUp(1 / 120, 7))[0], 1842.905, 0.05);
  near(measure(toUp(89 + 58 / 60, 7), toUp(89 + 59 / 60, 7))[0], 1861.566, 0.05);
});

test("halfway over the date line is at the date line, and halfway over a pole at the pole", () => {
  const halfway = (a: readonly [number, number], b: readonly [number, number]) =>
    toPlace(
      FLIGHT.move({ up: toUp(...a), altitude: 0, relAltitude: 0 }, { up: toUp(...b), altitude: 0, relAltitude: 0 }, 0.5)
        .up,
    );
  near(Math.abs(halfway([10, 179.9999], [10, -179.9999]).longitude), 180, 1e-9);
  near(halfway([89.9999, 20], [89.9999, -160]).latitude, 90, 1e-9);
});
