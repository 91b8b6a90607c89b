/** Against Karney's geodesics, independent of the code of `geolocate`: no ECEF, no rotations. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import geodesic from "geographiclib-geodesic";
import { locateFoot, sightOf } from "./sight.fixture.ts";

const { WGS84 } = geodesic.Geodesic;
const RADIANS = Math.PI / 180;

/** Radius of curvature of the ellipsoid in a direction (Euler). */
function arcRadiusM(latitude: number, azimuth: number): number {
  const [a, e2] = [6378137, 0.0066943799901413165];
  const w = 1 - e2 * Math.sin(latitude * RADIANS) ** 2;
  const [meridianM, primeM] = [(a * (1 - e2)) / w ** 1.5, a / Math.sqrt(w)];
  return 1 / (Math.cos(azimuth * RADIANS) ** 2 / meridianM + Math.sin(azimuth * RADIANS) ** 2 / primeM);
}

test("a camera pointed at the end of a geodesic locates it there", () => {
  const camera = fc.record({
    latitude: fc.double({ min: -89.9, max: 89.9, noNaN: true }),
    longitude: fc.double({ min: -180, max: 180, noNaN: true }),
    azimuth: fc.double({ min: 0, max: 360, noNaN: true }),
    awayM: fc.double({ min: 1, max: 3000, noNaN: true }),
    relAltitude: fc.double({ min: 20, max: 500, noNaN: true }),
  });
  fc.assert(
    fc.property(camera, ({ latitude, longitude, azimuth, awayM, relAltitude }) => {
      const end = WGS84.Direct(latitude, longitude, azimuth, awayM);
      const radiusM = arcRadiusM(latitude, azimuth);
      const turn = awayM / radiusM;
      const pitch = -Math.atan2(relAltitude + radiusM * (1 - Math.cos(turn)), radiusM * Math.sin(turn)) / RADIANS;
      const sight = sightOf({ latitude, longitude, altitude: relAltitude, relAltitude, yaw: azimuth, pitch });
      const { spot } = locateFoot(sight, 0.5, 0.5);
      assert.ok(spot);
      const { s12: missM } = WGS84.Inverse(end.lat2 ?? 0, end.lon2 ?? 0, spot.latitude, spot.longitude);
      // Remaining error: a geodesic is not an arc of a circle, magnified up to 150 times by the obliqueness.
      assert.ok((missM ?? 1) < 0.001 + 1e-6 * awayM, `${missM} m`);
    }),
    { numRuns: 500, seed: 6 },
  );
});
