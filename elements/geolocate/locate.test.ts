import assert from "node:assert/strict";
import { test } from "node:test";
import { type CameraAxes, direct, offsetDown, offsetRight } from "./camera.ts";
import { meetGround, type Terrain } from "./ground.ts";
import { errorM, locate, openSight, type Sight, type World } from "./locate.ts";
import { boxOn, type Flown, locateFoot, PROPERTIES, sightOf, telemetryOf } from "./sight.fixture.ts";
import { findKind } from "./sizes.ts";
import { combine, cross, dot, step, subtract, type Vector } from "./wgs84.ts";

/** Deterministic random numbers with mean 0 and standard deviation 1. */
function normals(seed: number): () => number {
  let state = seed;
  const uniform = (): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state + 0.5) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform());
}

/** Rodrigues: an exact rotation, not its first order. */
function turn(vector: Vector, axis: Vector, angle: number): Vector {
  const [sin, cos] = [Math.sin(angle), Math.cos(angle)];
  return combine(vector, cos, cross(axis, vector), sin, axis, dot(axis, vector) * (1 - cos));
}

/** Monte Carlo: cameras with random errors of the given size; returns the root mean square error of the position. */
function drawErrorM({ lens, world }: Sight, x: number, y: number, draws: number): number {
  assert.ok(world);
  const next = normals(7);
  const [right, down] = [offsetRight(lens, x), offsetDown(lens, y)];
  const truth = meet(world, world.axes, world.from, right, down);
  const { attitude, heading, lens: lensError, positionM, heightM } = world.doubts;
  const boxSide = 0.02;
  let sum = 0;
  for (let draw = 0; draw < draws; draw++) {
    let axes: CameraAxes = world.axes;
    const turnAll = (axis: Vector, angle: number): void => {
      axes = {
        right: turn(axes.right, axis, angle),
        down: turn(axes.down, axis, angle),
        ahead: turn(axes.ahead, axis, angle),
      };
    };
    turnAll(world.axes.right, attitude * next());
    turnAll(world.axes.down, attitude * next());
    turnAll(world.axes.ahead, attitude * next());
    turnAll(world.local.up, heading * next());
    const zoom = 1 + lensError * next();
    const { east, north, up } = world.local;
    const moved = combine(
      east,
      positionM * Math.SQRT1_2 * next(),
      north,
      positionM * Math.SQRT1_2 * next(),
      up,
      heightM * next(),
    );
    const spot = meet(
      world,
      axes,
      step(world.from, moved, 1),
      (right + 2 * lens.halfWidth * boxSide * PROPERTIES.footError * next()) * zoom,
      (down + 2 * lens.halfHeight * boxSide * PROPERTIES.footError * next()) * zoom,
    );
    const off = subtract(spot, truth);
    sum += dot(off, off);
  }
  return Math.sqrt(sum / draws);
}

function meet(world: World, axes: CameraAxes, from: Vector, right: number, down: number): Vector {
  const along = direct(axes, right, down);
  return step(from, along, Number(meetGround(world.terrain, { from, along }, 1e6) ?? Number.NaN));
}

/** Falls to the north by 1 in 4, and rises to the east. */
const SLOPE: Terrain = { heightAt: (latitude, longitude) => -latitude * 27_640 + longitude * 20_000 };

const CASES: readonly (readonly [name: string, flown: Flown, x: number, y: number, terrain?: Terrain])[] = [
  ["straight down", { pitch: -90 }, 0.5, 0.5],
  ["the corner of a picture from above", { pitch: -90, yaw: 30 }, 0.95, 0.1],
  ["45 degrees down", { pitch: -45, yaw: 200, latitude: 52 }, 0.5, 0.5],
  ["the left of a rolled picture", { pitch: -35, roll: 25, latitude: -33 }, 0.1, 0.6],
  ["12 degrees down from 40 m", { pitch: -12, relAltitude: 40, latitude: 70 }, 0.7, 0.5],
  ["beside the pole", { pitch: -30, latitude: 89.9999 }, 0.5, 0.5],
  ["down a slope", { pitch: -40 }, 0.6, 0.5, SLOPE],
];

for (const [name, flown, x, y, terrain] of CASES)
  test(`the error equals that of a Monte Carlo simulation: ${name}`, () => {
    const sight = sightOf(flown, {}, terrain);
    const { spot } = locateFoot(sight, x, y);
    assert.ok(spot);
    const drawn = drawErrorM(sight, x, y, terrain === undefined ? 5000 : 2000);
    const ratio = errorM(spot.covariance) / drawn;
    assert.ok(ratio > 0.94 && ratio < 1.06, `${errorM(spot.covariance)} m, drawn ${drawn} m`);
  });

const errorAt = (flown: Flown, properties = {}): number => {
  const { spot } = locateFoot(sightOf(flown, properties), 0.5, 0.5);
  assert.ok(spot);
  return errorM(spot.covariance);
};

test("the error grows with the obliqueness of the view", () => {
  const errors = [-90, -60, -45, -30, -20, -10, -5, -2].map((pitch) => errorAt({ pitch }));
  for (const [i, error] of errors.entries()) assert.ok(i === 0 || error > (errors[i - 1] ?? 0), `${errors}`);
});

test("looking straight down, heading and height do not matter", () => {
  // Of 100 m: 0.5° about two axes is 0.873 m each; north and height do not matter in the middle of the picture.
  const expected = Math.hypot(100 * Math.tan(0.5 * (Math.PI / 180)) * Math.SQRT2, 1.5);
  assert.ok(Math.abs(errorAt({ pitch: -90 }) - expected) < 0.01);
});

test("the lens error counts at the edge of the image, not in its middle", () => {
  const sure = { attitudeErrorDeg: 0, headingErrorDeg: 0, positionErrorM: 0, heightErrorM: 0 };
  const sight = sightOf({ pitch: -90, hfov: 90, vfov: 60 }, sure);
  const errorOf = (x: number): number => {
    const { spot } = locate(sight, boxOn(x, 0.5, 0), { isAirborne: false, size: null }, 0);
    assert.ok(spot);
    return errorM(spot.covariance);
  };
  // The edge is 100 m from the middle: 1 % of it.
  assert.ok(Math.abs(errorOf(1) - 1) < 0.001);
  assert.ok(errorOf(0.5) < 1e-9);
});

test("adds the error of joining telemetry by time", () => {
  const doubtful = { ...telemetryOf({ pitch: -45 }), doubt: { angle: 2, position: 10, height: 5 } };
  const sight = openSight(doubtful, PROPERTIES, null);
  assert.ok(sight);
  const { spot } = locateFoot(sight, 0.5, 0.5);
  const same = errorAt(
    { pitch: -45 },
    {
      attitudeErrorDeg: Math.hypot(0.5, 2),
      positionErrorM: Math.hypot(1.5, 10),
      heightErrorM: Math.hypot(2, 5),
    },
  );
  assert.ok(spot && Math.abs(errorM(spot.covariance) - same) < 1e-6);
});

test("a foot cut off at the bottom of the frame increases the error", () => {
  const sight = sightOf({ pitch: -30 });
  const errorOf = (y: number): number => {
    const { spot } = locate(sight, boxOn(0.5, y, 0.1, 0.3), { isAirborne: false, size: null }, PROPERTIES.footError);
    assert.ok(spot);
    return errorM(spot.covariance);
  };
  assert.ok(errorOf(1) > 2 * errorOf(0.99));
});

test("an object cut off at the side of the frame increases the error", () => {
  const sight = sightOf({ pitch: -30 });
  const errorOf = (x: number): number => {
    const { spot } = locate(sight, boxOn(x, 0.9, 0.3, 0.1), { isAirborne: false, size: null }, PROPERTIES.footError);
    assert.ok(spot);
    return errorM(spot.covariance);
  };
  assert.ok(errorOf(0.15) > 2 * errorOf(0.16));
  assert.ok(errorOf(0.85) > 2 * errorOf(0.84));
});

const SURE = {
  attitudeErrorDeg: 0,
  headingErrorDeg: 0,
  lensError: 0,
  positionErrorM: 0,
  heightErrorM: 0,
  footError: 0,
};

test("adds half of the length of the object along the view", () => {
  for (const flown of [{ pitch: -90 }, { pitch: -45 }, { pitch: -10, roll: 20 }]) {
    const { spot } = locate(sightOf(flown, SURE), boxOn(0.5, 0.5), findKind("car"), 0);
    assert.ok(spot && Math.abs(errorM(spot.covariance) - 1.5) < 1e-9, JSON.stringify(flown));
    // At latitude 0, looking north: x is up, y is east.
    if (!("roll" in flown)) assert.ok(Math.sqrt(spot.covariance.yy) < 1e-6);
  }
});

test("without input errors there is no error", () => {
  const { spot } = locate(sightOf({ pitch: -30 }, SURE), boxOn(0.4, 0.6), { isAirborne: false, size: null }, 0);
  assert.equal(spot && errorM(spot.covariance), 0);
});
