import assert from "node:assert/strict";
import { test } from "node:test";
import { centric, type Place3, project } from "./projection.fixture.ts";
import { locateFoot, sightOf } from "./sight.fixture.ts";

/** Deterministic random numbers from 0 to 1 (mulberry32). */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const distance = (a: Place3, b: Place3): number => {
  const [[ax, ay, az], [bx, by, bz]] = [centric(a), centric(b)];
  return Math.hypot(ax - bx, ay - by, az - bz);
};

interface Case {
  readonly region: string;
  readonly latitude: (random: () => number) => number;
  readonly longitude: (random: () => number) => number;
}

const anyLongitude = (random: () => number): number => random() * 360 - 180;
/** Within some hundred metres: most rays cross it. */
const near = (random: () => number): number => (random() - 0.5) * 0.004;
const CASES: readonly Case[] = [
  { region: "anywhere", latitude: (random) => Math.asin(2 * random() - 1) * (180 / Math.PI), longitude: anyLongitude },
  { region: "at the north pole", latitude: (random) => 90 - Math.abs(near(random)), longitude: anyLongitude },
  { region: "at the south pole", latitude: (random) => Math.abs(near(random)) - 90, longitude: anyLongitude },
  {
    region: "at the date line",
    latitude: (random) => random() * 160 - 80,
    longitude: (random) => {
      const beyond = 180 + near(random);
      return beyond > 180 ? beyond - 360 : beyond;
    },
  },
  { region: "at the equator", latitude: near, longitude: near },
];

/** A camera and a ground point in view; returns the error of locating it again, or null if the point is not in view. */
function goThereAndBack(
  random: () => number,
  { latitude, longitude }: Case,
): { rangeM: number; errorM: number } | null {
  const ground = random() * 4400 - 400;
  const relAltitude = 2 + random() * 300;
  const camera = {
    latitude: latitude(random),
    longitude: longitude(random),
    height: ground + relAltitude,
    yaw: random() * 720 - 360,
    pitch: random() * 100 - 95,
    roll: random() < 0.5 ? 0 : random() * 360 - 180,
  };
  const fov = { hfov: 5 + random() * 115, vfov: 5 + random() * 85 };
  // A step on a sphere is precise enough to choose a point: its height puts it on the ground.
  const [away, bearing] = [Math.sqrt(random()) * 500, random() * 2 * Math.PI];
  const target = walk(camera, away, bearing, ground);
  const seen = project(camera, fov, target);
  if (!seen.isAhead || seen.rangeM > 500 || seen.x < 0 || seen.x > 1 || seen.y < 0 || seen.y > 1) return null;
  const { spot } = locateFoot(sightOf({ ...camera, ...fov, altitude: camera.height, relAltitude }), seen.x, seen.y);
  if (spot === null) return { rangeM: seen.rangeM, errorM: Number.POSITIVE_INFINITY };
  assert.ok(Math.abs(spot.latitude) <= 90 && Math.abs(spot.longitude) <= 180);
  const back = { latitude: spot.latitude, longitude: spot.longitude, height: spot.heightM };
  return { rangeM: seen.rangeM, errorM: distance(back, target) };
}

function walk({ latitude, longitude }: Place3, away: number, bearing: number, height: number): Place3 {
  const [phi, turn] = [(latitude * Math.PI) / 180, away / 6_371_000];
  const sin = Math.sin(phi) * Math.cos(turn) + Math.cos(phi) * Math.sin(turn) * Math.cos(bearing);
  // Near the pole the sine loses the digits of the latitude; the cosine keeps them.
  const cos = Math.hypot(
    Math.sin(bearing) * Math.sin(turn),
    Math.cos(phi) * Math.cos(turn) - Math.sin(phi) * Math.sin(turn) * Math.cos(bearing),
  );
  const east = Math.atan2(
    Math.sin(bearing) * Math.sin(turn),
    Math.cos(phi) * Math.cos(turn) - Math.sin(phi) * Math.sin(turn) * Math.cos(bearing),
  );
  const beyond = longitude + (east * 180) / Math.PI;
  return {
    latitude: (Math.atan2(sin, cos) * 180) / Math.PI,
    longitude: beyond > 180 ? beyond - 360 : beyond < -180 ? beyond + 360 : beyond,
    height,
  };
}

const TRIPS = 10_000;

test(`${TRIPS} cameras and ground points: projected by another formula and located again, within 0.1 m at 500 m`, (t) => {
  const random = seeded(20_260_611);
  const worst = new Map<string, number>();
  let [trips, farthestM] = [0, 0];
  while (trips < TRIPS) {
    const chosen = CASES[trips % CASES.length] as Case;
    const trip = goThereAndBack(random, chosen);
    if (trip === null) continue;
    trips++;
    farthestM = Math.max(farthestM, trip.rangeM);
    worst.set(chosen.region, Math.max(worst.get(chosen.region) ?? 0, trip.errorM));
  }
  for (const [region, errorM] of worst) {
    t.diagnostic(`${region}: ${errorM.toExponential(1)} m off at worst`);
    assert.ok(errorM < 0.1, `${region}: ${errorM} m`);
  }
  assert.ok(farthestM > 490, "no case was far enough to prove anything");
});
