/**
 * How far off a spot on the ground may be: what is not known well (angles, lens, foot of the box, place and height of the
 * camera) carried through the geometry to first order. Each cause tilts or shifts the ray; near the spot the ground is the
 * plane that touches it there.
 */
import type { CameraAxes } from "./camera.ts";
import type { Ray } from "./ground.ts";
import { combine, cross, dot, normalise, step, type Vector } from "./vector.ts";
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

export interface DoubtedCamera {
  readonly axes: CameraAxes;
  readonly local: LocalFrame;
  readonly doubts: Doubts;
}

/** A ray that meets the ground, and where in the picture it comes from: see camera.ts for `right` and `down`. */
export interface Sighted {
  readonly ray: Ray;
  readonly distanceM: number;
  /** Of the ground there: of length 1. */
  readonly normal: Vector;
  readonly right: number;
  readonly down: number;
  /** One standard deviation of both. */
  readonly rightDoubt: number;
  readonly downDoubt: number;
  /** Metres on the ground from the foot of the box, where the object is nearest, to its middle; 0 where nobody knows. */
  readonly halfLengthM: number;
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

/** Null at the horizon, where the least change of an angle loses the ground. */
export function spreadErrors({ axes, local, doubts }: DoubtedCamera, sighted: Sighted): Covariance | null {
  const { ray, distanceM, normal, right, down } = sighted;
  const falling = -dot(ray.along, normal);
  if (!(falling > 0)) return null;
  const sum: Covariance = { xx: 0, xy: 0, xz: 0, yy: 0, yz: 0, zz: 0 };
  /** The ray is shifted to one side by so many metres where it meets the ground: how far the spot goes. */
  const shift = (side: Vector, metres: number): void => {
    const onward = dot(side, normal) / falling;
    addCause(
      sum,
      (side.x + ray.along.x * onward) * metres,
      (side.y + ray.along.y * onward) * metres,
      (side.z + ray.along.z * onward) * metres,
    );
  };
  const across = normalise(step(axes.right, ray.along, -dot(axes.right, ray.along)));
  shift(across, doubts.attitude * distanceM);
  shift(cross(ray.along, across), doubts.attitude * distanceM);
  shift(cross(local.up, ray.along), doubts.heading * distanceM);
  const depthM = distanceM / Math.sqrt(1 + right * right + down * down);
  shift(axes.right, sighted.rightDoubt * depthM);
  shift(axes.down, sighted.downDoubt * depthM);
  const onward = normalise(step(axes.down, ray.along, dot(axes.down, normal) / falling));
  addCause(sum, onward.x * sighted.halfLengthM, onward.y * sighted.halfLengthM, onward.z * sighted.halfLengthM);
  shift(combine(axes.right, right, axes.down, down, axes.ahead, 0), doubts.lens * depthM);
  shift(local.east, doubts.positionM * Math.SQRT1_2);
  shift(local.north, doubts.positionM * Math.SQRT1_2);
  shift(local.up, doubts.heightM);
  return sum;
}

/** One cause that has nothing to do with the others, and by how much it moves the spot. */
function addCause(sum: Covariance, x: number, y: number, z: number): void {
  sum.xx += x * x;
  sum.xy += x * y;
  sum.xz += x * z;
  sum.yy += y * y;
  sum.yz += y * z;
  sum.zz += z * z;
}
