import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { measure, toPlace, toUp } from "./globe.ts";
import { FLIGHT } from "./motions.ts";

const near = (actual: number, expected: number, within: number): void =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected}`);

test("a place is found again, everywhere", () => {
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

test("degrees are as long as WGS-84 says", () => {
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
