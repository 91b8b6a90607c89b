/** Intersects a ray from the camera with the ground. */
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

/** Height of the ground. */
export interface Terrain {
  /** Metres above the ellipsoid; NaN: unknown. */
  heightAt(latitude: number, longitude: number): number;
  /** Set if the height is the same everywhere: the intersection is then computed, not searched. */
  readonly levelM?: number;
}

export interface Ray {
  /** ECEF. */
  readonly from: Vector;
  /** Of length 1. */
  readonly along: Vector;
}

/** A ray passes over ground of unknown height before it meets any. */
export interface UnknownGround {
  /** Metres along the ray: the ground is known up to there. */
  readonly knownM: number;
}

/** Constant height above the ellipsoid, not above a plane: at 2 km, a plane would be 30 cm too high. */
export const levelTerrain = (heightM: number): Terrain => ({ heightAt: () => heightM, levelM: heightM });

/**
 * Metres along the ray to its first intersection with the ground; null if there is none within `limitM`, such as at or
 * above the horizon, and if the ray starts below the ground.
 */
export function meetGround(terrain: Terrain, ray: Ray, limitM: number): number | null | UnknownGround {
  if (terrain.levelM === undefined) return walkToTerrain(terrain, ray, limitM);
  const distanceM = meetLevel(terrain.levelM, ray);
  return distanceM !== null && distanceM <= limitM ? distanceM : null;
}

/** Metres to either side over which a slope is measured. */
const SLOPE_REACH_M = 2;

/** Unit normal of the ground at a position. */
export function findNormal(terrain: Terrain, spot: Vector, { latitude, longitude }: Geodetic): Vector {
  const { east, north, up } = localFrame(latitude, longitude);
  if (terrain.levelM !== undefined) return up;
  const heightAt = (along: Vector, byM: number): number => {
    const place = toGeodetic(step(spot, along, byM));
    return terrain.heightAt(place.latitude, place.longitude);
  };
  const rise = (along: Vector): number => {
    const slope = (heightAt(along, SLOPE_REACH_M) - heightAt(along, -SLOPE_REACH_M)) / (2 * SLOPE_REACH_M);
    // At the edge of the data.
    return Number.isNaN(slope) ? 0 : slope;
  };
  return normalise(combine(up, 1, east, -rise(east), north, -rise(north)));
}

/** Tolerance in metres. */
const ON_GROUND_M = 1e-7;

function meetLevel(heightM: number, ray: Ray): number | null {
  let distanceM = meetEllipsoid(EQUATOR_M + heightM, POLE_M + heightM, ray);
  // A surface of constant height above an ellipsoid is not an ellipsoid: correct the remaining millimetres.
  for (let round = 0; distanceM !== null && round < 4; round++) {
    const { heightM: reachedM, up } = heightAndUp(step(ray.from, ray.along, distanceM));
    const tooHighM = reachedM - heightM;
    if (Math.abs(tooHighM) < ON_GROUND_M) break;
    const falling = -dot(ray.along, up);
    distanceM = falling > 0 ? distanceM + tooHighM / falling : null;
  }
  return distanceM;
}

/** The nearer of the two intersections, without cancellation. */
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

/** Steps are as long as the clearance above the ground, so that no slope up to 45 degrees is missed, but at least this. */
const MIN_STEP_M = 2;
const HALVINGS = 40;

function walkToTerrain(terrain: Terrain, ray: Ray, limitM: number): number | null | UnknownGround {
  const clearance = (distanceM: number): number => {
    const { latitude, longitude, heightM } = toGeodetic(step(ray.from, ray.along, distanceM));
    return heightM - terrain.heightAt(latitude, longitude);
  };
  let above = 0;
  let clearM = clearance(above);
  if (Number.isNaN(clearM)) return { knownM: 0 };
  if (clearM <= 0) return null;
  while (above < limitM) {
    const next = Math.min(above + Math.max(clearM, MIN_STEP_M), limitM);
    clearM = clearance(next);
    // Within the clearance there is no ground.
    if (Number.isNaN(clearM)) return { knownM: halve((at) => (Number.isNaN(clearance(at)) ? -1 : 1), above, next) };
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
