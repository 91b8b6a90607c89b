import assert from "node:assert/strict";
import { test } from "node:test";
import { type Motion, Motions, type Spot } from "./motion.ts";
import { combine, localFrame, step, toEcef, toGeodetic, type Vector } from "./wgs84.ts";

/** Equal error in all directions. */
function spotAt(point: Vector, errorM: number, lastingM = 0): Spot {
  const { latitude, longitude } = toGeodetic(point);
  const square = errorM ** 2 / 2;
  const covariance = { xx: square, xy: 0, xz: 0, yy: square, yz: 0, zz: square };
  return { latitude, longitude, point, covariance, lastingM };
}

interface Walk {
  readonly latitude?: number;
  readonly longitude?: number;
  readonly speedMps: number;
  readonly heading: number;
  readonly seconds: number;
  readonly perSecond?: number;
  readonly errorM?: number;
}

const RADIANS = Math.PI / 180;

/** Moves straight from a position. Returns the last motion, and the time from which its speed was known. */
function walk(motions: Motions, id: number, walked: Walk): { last: Motion; knownS: number | null } {
  const { latitude = 48, longitude = 11, speedMps, heading, seconds, perSecond = 10, errorM = 2 } = walked;
  const { east, north } = localFrame(latitude, longitude);
  const ahead = combine(east, Math.sin(heading * RADIANS), north, Math.cos(heading * RADIANS), north, 0);
  const start = toEcef({ latitude, longitude, heightM: 0 });
  let last: Motion = { speedMps: null, heading: null };
  let knownS: number | null = null;
  for (let i = 0; i <= seconds * perSecond; i++) {
    const timeS = i / perSecond;
    last = motions.take(id, 1000 + timeS, spotAt(step(start, ahead, speedMps * timeS), errorM));
    if (last.speedMps !== null) knownS ??= timeS;
  }
  return { last, knownS };
}

const near = (found: number | null, expected: number, by: number) =>
  assert.ok(found !== null && Math.abs(found - expected) < by, `${found} and not ${expected}`);

test("finds speed and heading of a walking person", () => {
  for (const heading of [0.5, 90, 200, 359.5]) {
    const { last, knownS } = walk(new Motions(), 1, { speedMps: 1.4, heading, seconds: 10 });
    near(last.speedMps, 1.4, 0.02);
    near(last.heading, heading, 0.5);
    assert.ok(knownS !== null && knownS >= 0.5 && knownS < 3, `${knownS}`);
  }
});

test("knows the speed earlier if the positions are more precise", () => {
  const times = [0.5, 2, 8].map(
    (errorM) => walk(new Motions(), 1, { speedMps: 8, heading: 45, seconds: 20, errorM }).knownS,
  );
  const [first, second, third] = times;
  assert.ok(first != null && second != null && third != null && first <= second && second < third, `${times}`);
});

test("a standing object has a speed near 0 and no heading", () => {
  const { last } = walk(new Motions(), 1, { speedMps: 0, heading: 0, seconds: 10 });
  near(last.speedMps, 0, 0.01);
  assert.equal(last.heading, null);
});

test("smooths jittering positions most in the direction of the largest error", () => {
  const motions = new Motions();
  const { east, north } = localFrame(0, 0);
  const start = toEcef({ latitude: 0, longitude: 0, heightM: 0 });
  let last: Motion = { speedMps: null, heading: null };
  // Error of 5 m to the north, with jumps of 4 m back and forth; precise to the east, where it moves.
  for (let i = 0; i <= 100; i++) {
    const point = step(step(start, east, 3 * (i / 10)), north, i % 2 === 0 ? 2 : -2);
    const { latitude, longitude } = toGeodetic(point);
    const covariance = { xx: 0, xy: 0, xz: 0, yy: 0.2 ** 2, yz: 0, zz: 5 ** 2 };
    last = motions.take(1, i / 10, { latitude, longitude, point, covariance, lastingM: 0 });
  }
  near(last.speedMps, 3, 0.1);
  near(last.heading, 90, 4);
});

test("works over long distances, at the poles and at the date line", () => {
  const far = walk(new Motions(), 1, {
    speedMps: 200,
    heading: 90,
    seconds: 60,
    latitude: 0,
    longitude: 179.95,
    perSecond: 2,
  });
  near(far.last.speedMps, 200, 1);
  near(far.last.heading, 90, 0.5);
  // From 100 m before the pole across it: the same direction is south then.
  const latitude = 90 - 100 / 111_694;
  const before = walk(new Motions(), 1, { speedMps: 10, heading: 0, seconds: 8, latitude });
  near(before.last.speedMps, 10, 0.2);
  assert.ok(
    before.last.heading !== null && (before.last.heading < 1 || before.last.heading > 359),
    `${before.last.heading}`,
  );
  const beyond = walk(new Motions(), 1, { speedMps: 10, heading: 0, seconds: 20, latitude });
  near(beyond.last.heading, 180, 1);
  // From 3 km before the pole to just beyond, slightly beside it: the plane changes where east reverses.
  const across = walk(new Motions(), 1, {
    speedMps: 100,
    heading: 1,
    seconds: 33,
    latitude: 90 - 3000 / 111_694,
    perSecond: 5,
  });
  near(across.last.speedMps, 100, 0.5);
  assert.ok(across.last.heading !== null && across.last.heading > 165 && across.last.heading < 180);
});

test("drops tracks that ended or were not seen for long", () => {
  const motions = new Motions();
  for (const id of [1, 2, 3]) walk(motions, id, { speedMps: 1, heading: 0, seconds: 1 });
  assert.equal(motions.size, 3);
  motions.forget([2, 77]);
  assert.equal(motions.size, 2);
  const spot = spotAt(toEcef({ latitude: 48, longitude: 11, heightM: 0 }), 2);
  assert.deepEqual(motions.take(4, 1062, spot), { speedMps: null, heading: null });
  assert.equal(motions.size, 1);
  motions.clear();
  assert.deepEqual(motions.recall(4, spot), { speedMps: null, heading: null });
});

test("bounds its memory for any number of ids", () => {
  const motions = new Motions();
  const spot = spotAt(toEcef({ latitude: 48, longitude: 11, heightM: 0 }), 2);
  for (let id = 1; id <= 20_000; id++) motions.take(id, 1000, spot);
  assert.ok(motions.size <= 4096);
});

test("a time step back restarts the track, and a repeated position at the same time does no harm", () => {
  const motions = new Motions();
  walk(motions, 1, { speedMps: 2, heading: 90, seconds: 5 });
  const spot = spotAt(toEcef({ latitude: 48, longitude: 11, heightM: 0 }), 2);
  for (const timeS of [1004.9, 1004.9])
    assert.deepEqual(motions.take(1, timeS, spot), { speedMps: null, heading: null });
  const sure = spotAt(toEcef({ latitude: 48, longitude: 11, heightM: 0 }), 0);
  for (let i = 0; i < 20; i++) {
    const { speedMps } = motions.take(2, 10 + i / 10, sure);
    assert.ok(speedMps === null || Number.isFinite(speedMps));
  }
});

test("does not report position errors from camera rotation and clock offset as speed", () => {
  const { east } = localFrame(48, 11);
  const start = toEcef({ latitude: 48, longitude: 11, heightM: 0 });
  const reportedSpeeds = (lastingM: number): number => {
    const motions = new Motions();
    let count = 0;
    for (let i = 0; i <= 300; i++) {
      const [sway, turn] = [Math.sin(i / 10), Math.abs(Math.cos(i / 10))];
      const { heading } = motions.take(1, i / 10, spotAt(step(start, east, 5 * sway), 2, lastingM * turn));
      if (heading !== null) count++;
    }
    return count;
  };
  assert.ok(reportedSpeeds(0) > 100);
  assert.equal(reportedSpeeds(7), 0);
});
