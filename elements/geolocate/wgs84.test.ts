import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { dot, localFrame, toEcef, toGeodetic } from "./wgs84.ts";

test("the conversion round trip returns the same position, from the deepest sea to the edge of space", () => {
  const place = fc.record({
    latitude: fc.oneof(fc.double({ min: -90, max: 90, noNaN: true }), fc.constantFrom(-90, 90, 0, 89.9999999)),
    longitude: fc.oneof(fc.double({ min: -180, max: 180, noNaN: true }), fc.constantFrom(-180, 180, 0)),
    heightM: fc.double({ min: -12_000, max: 100_000, noNaN: true }),
  });
  fc.assert(
    fc.property(place, (there) => {
      const ecef = toEcef(there);
      const back = toGeodetic(ecef);
      const again = toEcef(back);
      assert.ok(Math.hypot(again.x - ecef.x, again.y - ecef.y, again.z - ecef.z) < 1e-7);
      assert.ok(Math.abs(back.latitude - there.latitude) < 1e-12);
      assert.ok(Math.abs(back.heightM - there.heightM) < 1e-7);
    }),
    { numRuns: 1000 },
  );
});

test("converts known points correctly", () => {
  // a on the equator, b at the pole; at 45 degrees N = a / sqrt(1 - e²/2) = 6388838.290 m.
  assert.deepEqual(toEcef({ latitude: 0, longitude: 0, heightM: 10 }), { x: 6_378_147, y: 0, z: 0 });
  assert.ok(Math.abs(toEcef({ latitude: 90, longitude: 77, heightM: 0 }).z - 6_356_752.3142) < 1e-4);
  const { x, y, z } = toEcef({ latitude: 45, longitude: 90, heightM: 0 });
  assert.ok(Math.abs(x) < 1e-6);
  assert.ok(Math.abs(y - 6_388_838.29 * Math.SQRT1_2) < 1e-2);
  assert.ok(Math.abs(z - 6_388_838.29 * (1 - 0.00669437999) * Math.SQRT1_2) < 1e-2);
});

test("east, north and up are orthogonal, also at the poles", () => {
  for (const latitude of [-90, -45, 0, 60, 90])
    for (const longitude of [-180, -30, 0, 180]) {
      const { east, north, up } = localFrame(latitude, longitude);
      for (const [a, b] of [
        [east, north],
        [north, up],
        [up, east],
      ] as const)
        assert.ok(Math.abs(dot(a, b)) < 1e-15);
      for (const axis of [east, north, up]) assert.ok(Math.abs(dot(axis, axis) - 1) < 1e-15);
    }
});
