import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TURNING } from "./motions.ts";
import {
  findTurn,
  type Quaternion,
  rotate,
  rotateBack,
  toAttitude,
  toQuaternion,
  turnBy,
  type Vector,
} from "./rotation.ts";

const angle = (most: number) => fc.double({ min: -most, max: most, noNaN: true });
const attitude = fc.record({ yaw: angle(180), pitch: angle(90), roll: angle(180) });
const near = (actual: Vector, expected: Vector, within = 1e-9): void =>
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
  test(`a camera that looks ${what}`, () => {
    near(rotate(toQuaternion(given), [1, 0, 0]), forward);
    near(rotate(toQuaternion(given), [0, 1, 0]), right);
  });
}

test("there and back is where it was, straight down and up too", () => {
  fc.assert(
    fc.property(
      fc.oneof(attitude, fc.record({ yaw: angle(180), pitch: fc.constantFrom(-90, 90), roll: angle(180) })),
      (given) => {
        const turned = toQuaternion(given);
        assert.ok(apart(toQuaternion(toAttitude(turned)), turned) < 1e-5);
        near(rotateBack(turned, rotate(turned, [1, 2, 3])), [1, 2, 3]);
      },
    ),
  );
});

test("the turn between two attitudes leads from one to the other, and is never more than half a turn", () => {
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

test("a pan at one pitch is as even as if yaw were counted alone", () => {
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

test("looking down, the same view in other words is no turn", () => {
  const one = toQuaternion({ yaw: 0, pitch: -90, roll: 0 });
  const other = toQuaternion({ yaw: 180, pitch: -90, roll: 180 });
  assert.ok(apart(one, other) < 1e-5);
  assert.ok(apart(TURNING.move(one, other, 0.5), one) < 1e-5);
});
