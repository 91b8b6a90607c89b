/**
 * How far off a spot on the ground may be: what is not known well (angles, lens, foot of the box, place and height of the
 * camera) carried through the geometry by its derivatives, which are taken by small steps and so hold for any terrain.
 */
import type { CameraAxes } from "./camera.ts";
import { meetGround, type Ray, type Terrain } from "./ground.ts";
import { cross, dot, normalise, step, subtract, type Vector } from "./vector.ts";
import type { LocalFrame } from "./wgs84.ts";

/** One standard deviation each. */
export interface Doubts {
  /** Radians, about each axis of the camera. */
  readonly attitude: number;
  /** Radians, about the vertical, besides. */
  readonly heading: number;
  /** Fraction of the fields of view. */
  readonly lens: number;
  /** Metres across the ground, both directions together. */
  readonly positionM: number;
  readonly heightM: number;
}

export interface Scene {
  readonly terrain: Terrain;
  readonly axes: CameraAxes;
  readonly local: LocalFrame;
  readonly limitM: number;
  readonly doubts: Doubts;
}

/** A ray that meets the ground, and where in the picture it comes from: see camera.ts for `right` and `down`. */
export interface Sighted {
  readonly ray: Ray;
  readonly distanceM: number;
  readonly right: number;
  readonly down: number;
  /** One standard deviation of both. */
  readonly rightDoubt: number;
  readonly downDoubt: number;
}

/** Of a spot: how its errors along three axes go together, square metres. ECEF. */
export interface Covariance {
  xx: number;
  xy: number;
  xz: number;
  yy: number;
  yz: number;
  zz: number;
}

/** One standard deviation: the root of the mean square of the distance. */
export const errorM = ({ xx, yy, zz }: Covariance): number => Math.sqrt(xx + yy + zz);

const SMALL_ANGLE = 1e-6;
const SMALL_STEP_M = 1e-3;

/** Null at the horizon, where the least change of an angle loses the ground. */
export function spreadErrors(scene: Scene, sighted: Sighted): Covariance | null {
  const { axes, local, doubts } = scene;
  const { from, along } = sighted.ray;
  const across = normalise(step(axes.right, along, -dot(axes.right, along)));
  const beneath = cross(along, across);
  const spot = step(from, along, sighted.distanceM);
  const turned = (axis: Vector) =>
    derive(scene, spot, { from, along: normalise(step(along, axis, SMALL_ANGLE)) }, SMALL_ANGLE);
  const moved = (axis: Vector) => derive(scene, spot, { from: step(from, axis, SMALL_STEP_M), along }, SMALL_STEP_M);
  const byAcross = turned(across);
  const byBeneath = turned(beneath);
  const byEast = moved(local.east);
  const byNorth = moved(local.north);
  const byUp = moved(local.up);
  if (byAcross === null || byBeneath === null || byEast === null || byNorth === null || byUp === null) return null;

  const sum: Covariance = { xx: 0, xy: 0, xz: 0, yy: 0, yz: 0, zz: 0 };
  /** A turn of the ray towards `axis`; one along the ray changes nothing. */
  const addTurn = (axis: Vector, by: number): void =>
    add(sum, byAcross, dot(axis, across) * by, byBeneath, dot(axis, beneath) * by);
  addTurn(across, doubts.attitude);
  addTurn(beneath, doubts.attitude);
  addTurn(cross(local.up, along), doubts.heading);
  const { right, down } = sighted;
  const length = Math.sqrt(1 + right * right + down * down);
  addTurn(axes.right, sighted.rightDoubt / length);
  addTurn(axes.down, sighted.downDoubt / length);
  addTurn(step(scale(axes.right, right), axes.down, down), doubts.lens / length);
  add(sum, byEast, doubts.positionM * Math.SQRT1_2, byNorth, 0);
  add(sum, byEast, 0, byNorth, doubts.positionM * Math.SQRT1_2);
  add(sum, byUp, doubts.heightM, byUp, 0);
  return sum;
}

/** How far the spot goes for a change of 1, going by a `small` one. */
function derive({ terrain, limitM }: Scene, spot: Vector, changed: Ray, small: number): Vector | null {
  // Twice the limit: a spot just within it still has an error.
  const distanceM = meetGround(terrain, changed, 2 * limitM);
  return distanceM === null ? null : scale(subtract(step(changed.from, changed.along, distanceM), spot), 1 / small);
}

const scale = ({ x, y, z }: Vector, by: number): Vector => ({ x: x * by, y: y * by, z: z * by });

/** One independent cause, that moves the spot by `a · byA + b · byB`. */
function add(sum: Covariance, a: Vector, byA: number, b: Vector, byB: number): void {
  const x = a.x * byA + b.x * byB;
  const y = a.y * byA + b.y * byB;
  const z = a.z * byA + b.z * byB;
  sum.xx += x * x;
  sum.xy += x * y;
  sum.xz += x * z;
  sum.yy += y * y;
  sum.yz += y * z;
  sum.zz += z * z;
}
