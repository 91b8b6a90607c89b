/** Where a ray from the camera meets the ground. */
import {
  combine,
  dot,
  EQUATOR_M,
  type Geodetic,
  heightAndUp,
  localFrame,
  normalise,
  POLE_M,
  step,
  toGeodetic,
  type Vector,
} from "./wgs84.ts";

/** How high the ground is. Another one, from a file of heights, is one more object. */
export interface Terrain {
  /** Metres above the ellipsoid. */
  heightAt(latitude: number, longitude: number): number;
  /** The same everywhere: then the ray is met by reckoning and not by walking along it. */
  readonly levelM?: number;
}

export interface Ray {
  /** ECEF. */
  readonly from: Vector;
  /** Of length 1. */
  readonly along: Vector;
}

/** As high everywhere, above the ellipsoid and not above a plane: 2 km off, a plane would be 30 cm too high. */
export const levelTerrain = (heightM: number): Terrain => ({ heightAt: () => heightM, levelM: heightM });

/**
 * Metres along the ray to where it first meets the ground; null for a ray that does not within `limitM`, as those at or
 * above the horizon, and for one that starts below the ground.
 */
export function meetGround(terrain: Terrain, ray: Ray, limitM: number): number | null {
  const distanceM = terrain.levelM === undefined ? walkToTerrain(terrain, ray, limitM) : meetLevel(terrain.levelM, ray);
  return distanceM !== null && distanceM <= limitM ? distanceM : null;
}

/** Metres to either side within which a slope is measured. */
const SLOPE_REACH_M = 2;

/** At right angles to the ground at a spot on it, of length 1. */
export function findNormal(terrain: Terrain, spot: Vector, { latitude, longitude }: Geodetic): Vector {
  const { east, north, up } = localFrame(latitude, longitude);
  if (terrain.levelM !== undefined) return up;
  const heightAt = (along: Vector, byM: number): number => {
    const place = toGeodetic(step(spot, along, byM));
    return terrain.heightAt(place.latitude, place.longitude);
  };
  const rise = (along: Vector): number =>
    (heightAt(along, SLOPE_REACH_M) - heightAt(along, -SLOPE_REACH_M)) / (2 * SLOPE_REACH_M);
  return normalise(combine(up, 1, east, -rise(east), north, -rise(north)));
}

/** So near the ground the point is on it. */
const ON_GROUND_M = 1e-7;

function meetLevel(heightM: number, ray: Ray): number | null {
  let distanceM = meetEllipsoid(EQUATOR_M + heightM, POLE_M + heightM, ray);
  // All points as high above an ellipsoid do not make one: some millimetres remain.
  for (let round = 0; distanceM !== null && round < 4; round++) {
    const { heightM: reachedM, up } = heightAndUp(step(ray.from, ray.along, distanceM));
    const tooHighM = reachedM - heightM;
    if (Math.abs(tooHighM) < ON_GROUND_M) break;
    const falling = -dot(ray.along, up);
    distanceM = falling > 0 ? distanceM + tooHighM / falling : null;
  }
  return distanceM;
}

/** The nearer of both points where the line meets it, written so that nothing nearly equal is subtracted. */
function meetEllipsoid(equatorM: number, poleM: number, { from, along }: Ray): number | null {
  const [fromX, fromY, fromZ] = [from.x / equatorM, from.y / equatorM, from.z / poleM];
  const [alongX, alongY, alongZ] = [along.x / equatorM, along.y / equatorM, along.z / poleM];
  const square = alongX * alongX + alongY * alongY + alongZ * alongZ;
  const towards = -(fromX * alongX + fromY * alongY + fromZ * alongZ);
  const outside = fromX * fromX + fromY * fromY + fromZ * fromZ - 1;
  const rest = towards * towards - square * outside;
  if (towards <= 0 || outside <= 0 || rest < 0) return null;
  return outside / (towards + Math.sqrt(rest));
}

/** Never further than it is above the ground, so that no slope up to 45 degrees is passed through; and at least so far. */
const MIN_STEP_M = 2;
const HALVINGS = 40;

function walkToTerrain(terrain: Terrain, ray: Ray, limitM: number): number | null {
  const clearance = (distanceM: number): number => {
    const { latitude, longitude, heightM } = toGeodetic(step(ray.from, ray.along, distanceM));
    return heightM - terrain.heightAt(latitude, longitude);
  };
  let above = 0;
  let clearM = clearance(above);
  if (!(clearM > 0)) return null;
  while (above < limitM) {
    const next = Math.min(above + Math.max(clearM, MIN_STEP_M), limitM);
    clearM = clearance(next);
    // Where no height is known there is no ground to meet.
    if (Number.isNaN(clearM)) return null;
    if (clearM <= 0) return halve(clearance, above, next);
    above = next;
  }
  return null;
}

function halve(clearance: (distanceM: number) => number, above: number, below: number): number {
  for (let round = 0; round < HALVINGS; round++) {
    const middle = (above + below) / 2;
    if (clearance(middle) > 0) above = middle;
    else below = middle;
  }
  return below;
}
