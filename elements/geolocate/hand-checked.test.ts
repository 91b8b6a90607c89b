/**
 * Positions calculated by hand. The camera is 100 m above the ground by default. Two radii of the ellipsoid
 * (a = 6378137 m, 1/f = 298.257223563, e² = 0.00669437999) turn metres on the ground into degrees:
 *
 *   M, north and south: a (1 - e²) / (1 - e² sin²φ)^1.5:  6335439.327 m at the equator, 6399593.626 m at the poles;
 *   N, east and west:   a / (1 - e² sin²φ)^0.5:           6378137 m at the equator, 6394209.174 m at 60 degrees,
 *                                                          where the parallel has half of that as its radius.
 *
 * 100 m are 0.00090437 degrees north at the equator, 0.00089831 east there, 0.00179211 east at 60 degrees, 0.00089530 along
 * a meridian at a pole. The ground falls away by 100² / 2R = 0.8 mm on the way: a ray at 45 degrees goes 0.8 mm further,
 * which is 7e-9 degrees. Hence the tolerance.
 */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Flown, locateFoot, sightOf } from "./sight.fixture.ts";

const TOLERANCE_DEG = 1e-8;

interface Checked {
  readonly name: string;
  readonly flown: Flown;
  /** Point of the image; default: its middle. */
  readonly pixel?: readonly [number, number];
  readonly latitude: number;
  readonly longitude: number;
  readonly distanceM: number;
}

const DIAGONAL = 100 * Math.SQRT2;
const NORTH_100 = 100 / 6335439.327 / (Math.PI / 180);
const EAST_100 = 100 / 6378137 / (Math.PI / 180);

const CASES: readonly Checked[] = [
  { name: "straight down is below the camera", flown: { pitch: -90 }, latitude: 0, longitude: 0, distanceM: 100 },
  {
    // tan 45° = 1: as far ahead as it is high.
    name: "45 degrees down to the north",
    flown: { pitch: -45 },
    latitude: NORTH_100,
    longitude: 0,
    distanceM: DIAGONAL,
  },
  {
    name: "yaw turns clockwise: 90 is east",
    flown: { pitch: -45, yaw: 90 },
    latitude: 0,
    longitude: EAST_100,
    distanceM: DIAGONAL,
  },
  {
    name: "yaw 720 - 90 is west",
    flown: { pitch: -45, yaw: 630 },
    latitude: 0,
    longitude: -EAST_100,
    distanceM: DIAGONAL,
  },
  {
    name: "degrees of longitude are half as long at 60 degrees",
    flown: { latitude: 60, pitch: -45, yaw: 90 },
    // The ray leaves the parallel, which bends to the north of it: 100² tan 60° / (2 · 6.39e6) = 1.35 mm to the south.
    latitude: 60 - 1.214e-8,
    longitude: 100 / (6394209.174 / 2) / (Math.PI / 180),
    distanceM: DIAGONAL,
  },
  {
    // Looking down with the north up, the field of 90 degrees ends 100 m to either side.
    name: "the right edge of a picture from above is east",
    flown: { pitch: -90, hfov: 90, vfov: 60 },
    pixel: [1, 0.5],
    latitude: 0,
    longitude: EAST_100,
    distanceM: DIAGONAL,
  },
  {
    name: "its upper edge is north",
    flown: { pitch: -90, hfov: 60, vfov: 90 },
    pixel: [0.5, 0],
    latitude: NORTH_100,
    longitude: 0,
    distanceM: DIAGONAL,
  },
  {
    // tan 60° is 1.732; a quarter of the way from the middle to the edge is 0.433, and not a quarter of the angle.
    name: "pixels are even in tangents, not in angles",
    flown: { pitch: -90, hfov: 120, vfov: 90 },
    pixel: [0.625, 0.5],
    latitude: 0,
    longitude: EAST_100 * (Math.sqrt(3) / 4),
    distanceM: 100 * Math.sqrt(1 + 3 / 16),
  },
  {
    // Rolled clockwise by a quarter, the right edge of the picture is below: 45 degrees down, straight ahead.
    name: "roll is clockwise as seen along the view",
    flown: { roll: 90, hfov: 90, vfov: 60 },
    pixel: [1, 0.5],
    latitude: NORTH_100,
    longitude: 0,
    distanceM: DIAGONAL,
  },
  {
    // Straight down and 45 degrees on: down to the south, upside down.
    name: "pitch beyond straight down looks back",
    flown: { pitch: -135 },
    latitude: -NORTH_100,
    longitude: 0,
    distanceM: DIAGONAL,
  },
  {
    name: "across the date line",
    flown: { longitude: 179.9999, pitch: -45, yaw: 90 },
    latitude: 0,
    longitude: 179.9999 + EAST_100 - 360,
    distanceM: DIAGONAL,
  },
  {
    // North of a camera at the pole, at longitude 0, is on along its meridian: down the other side, at longitude 180.
    name: "over the north pole",
    flown: { latitude: 90, pitch: -45 },
    latitude: 90 - 100 / 6399593.626 / (Math.PI / 180),
    longitude: 180,
    distanceM: DIAGONAL,
  },
  {
    name: "over the south pole",
    flown: { latitude: -90, longitude: 30, pitch: -45, yaw: 180 },
    latitude: -90 + 100 / 6399593.626 / (Math.PI / 180),
    longitude: -150,
    distanceM: DIAGONAL,
  },
  {
    // On the shore of the Dead Sea. The ground is 400 m nearer to the centre: 100 m there are more degrees by 400/6335039.
    name: "ground below sea level",
    flown: { altitude: -300, pitch: -45 },
    latitude: 100 / (6335439.327 - 400) / (Math.PI / 180),
    longitude: 0,
    distanceM: DIAGONAL,
  },
];

for (const { name, flown, pixel: [x, y] = [0.5, 0.5], latitude, longitude, distanceM } of CASES)
  test(name, () => {
    const { spot, distanceM: found } = locateFoot(sightOf(flown), x, y);
    assert.ok(spot);
    assert.ok(Math.abs(spot.latitude - latitude) < TOLERANCE_DEG, `latitude ${spot.latitude}, by hand ${latitude}`);
    const turn = Math.abs(spot.longitude - longitude) % 360;
    // A degree of longitude has no length at a pole.
    const shrink = Math.cos((latitude * Math.PI) / 180);
    assert.ok(Math.min(turn, 360 - turn) * shrink < TOLERANCE_DEG, `longitude ${spot.longitude}, by hand ${longitude}`);
    assert.ok(Math.abs((found ?? 0) - distanceM) < 0.002, `${found} m, by hand ${distanceM}`);
    assert.ok(Math.abs(spot.heightM - ((flown.altitude ?? 100) - 100)) < 1e-6);
  });

test("the horizon at 100 m lies 0.32 degrees below level: above it there is no position", () => {
  // A ray touches a globe of radius R when cos δ = R / (R + h). Along a meridian at the equator R = M: δ = 0.32192 degrees,
  // and the touching point is sqrt(2 R h) = 35.6 km away.
  const far = { maxDistanceM: 100_000 };
  for (const pitch of [0, 20, 90, -0.31, -0.3218]) {
    const { spot, distanceM, azimuth, elevation } = locateFoot(sightOf({ pitch }, far), 0.5, 0.5);
    assert.equal(spot, null, `${pitch}`);
    assert.equal(distanceM, null);
    assert.deepEqual([azimuth, elevation], [0, 0]);
  }
  const { distanceM } = locateFoot(sightOf({ pitch: -0.32195 }, far), 0.5, 0.5);
  assert.ok(distanceM !== null && distanceM > 34_000 && distanceM < 35_700, `${distanceM}`);
});

test("ground beyond the limit gives no position", () => {
  // 100 m / sin 3° = 1911 m, and 5 m more as the ground falls away.
  assert.equal(locateFoot(sightOf({ pitch: -3 }, { maxDistanceM: 1910 }), 0.5, 0.5).spot, null);
  assert.notEqual(locateFoot(sightOf({ pitch: -3 }, { maxDistanceM: 1920 }), 0.5, 0.5).spot, null);
});

test("follows the curvature of the earth: 3 degrees down, the ground is 5.5 m farther than on a plane", () => {
  // The plane is met after 100 / tan 3° = 1908.11 m. There the globe (M) is x² / 2R = 0.2873 m lower, and at 3 degrees
  // that is 5.48 m further on, where it is again 2 · 1908 · 5.48 / 2R = 1.65 mm lower: 31 mm more. In sum 1913.63 m.
  const { spot } = locateFoot(sightOf({ pitch: -3 }), 0.5, 0.5);
  const northM = (spot?.latitude ?? 0) * (Math.PI / 180) * 6335439.327;
  assert.ok(Math.abs(northM - 1913.63) < 0.02, `${northM}`);
});

test("a geoid 50 m up raises camera and ground alike: a position 141 m away moves by a millimetre", () => {
  const at = (geoidSeparationM: number) => locateFoot(sightOf({ pitch: -45 }, { geoidSeparationM }), 0.5, 0.5).spot;
  const moved = ((at(0)?.latitude ?? 0) - (at(50)?.latitude ?? 0)) * (Math.PI / 180) * 6335439.327;
  // 100 m · 50 / 6335439.
  assert.ok(Math.abs(moved - 0.00079) < 0.00001, `${moved}`);
});
