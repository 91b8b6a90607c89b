import type { Box } from "../../schemas/detections.ts";
import { azimuthDeg, direct, elevationDeg, offsetDown, offsetRight } from "./camera.ts";
import { estimateDistanceM, isCutAside, isCutBelow } from "./distance.ts";
import { type Covariance, type Sighted, spreadErrors } from "./error.ts";
import { findNormal, meetGround } from "./ground.ts";
import type { Sight, World } from "./sight.ts";
import type { Kind } from "./sizes.ts";
import { dot, step, type Vector } from "./vector.ts";
import { toGeodetic } from "./wgs84.ts";

export interface Located {
  /** Degrees. */
  readonly azimuth: number;
  readonly elevation: number;
  readonly distanceM: number | null;
  readonly isDistanceEstimated: boolean;
  readonly spot: LocatedSpot | null;
}

export interface LocatedSpot {
  readonly latitude: number;
  readonly longitude: number;
  /** Above the ellipsoid. */
  readonly heightM: number;
  /** From the camera. */
  readonly distanceM: number;
  /** ECEF. */
  readonly point: Vector;
  readonly covariance: Covariance;
  /** See motion.ts. */
  readonly lastingM: number;
}

/** The foot of a box that is cut off at the bottom of the frame lies below it, or aside, who knows how far: by half of what is seen. */
const CUT_FOOT_ERROR = 0.5;

/**
 * What stands on the ground is where its foot is: the middle of the box's lower edge. What flies is where the middle of
 * the box is, and the ground behind it tells nothing. Without a spot in a known world, at the horizon or beyond the
 * limit, what stands on the ground has angles only.
 */
export function locate({ lens, world }: Sight, box: Box, { isAirborne, size }: Kind, footError: number): Located {
  const [left, top, width, height] = box;
  const right = offsetRight(lens, left + width / 2);
  const down = offsetDown(lens, isAirborne ? top + height / 2 : top + height);
  // Written out here and below: spreading an object costs more than all the geometry.
  const azimuth = azimuthDeg(right);
  const elevation = elevationDeg(right, down);
  if (world === null || isAirborne) {
    const distanceM = size === null ? null : estimateDistanceM(size, lens, box);
    return { azimuth, elevation, distanceM, isDistanceEstimated: distanceM !== null, spot: null };
  }
  const doubtWhere = (isCutOff: boolean): number => (isCutOff ? Math.max(footError, CUT_FOOT_ERROR) : footError);
  const rightDoubt = 2 * lens.halfWidth * width * doubtWhere(isCutAside(box));
  const downDoubt = 2 * lens.halfHeight * height * doubtWhere(isCutBelow(box));
  const halfLengthM = (size?.widthM ?? 0) / 2;
  const spot = meet(world, { right, down, rightDoubt, downDoubt, halfLengthM });
  return { azimuth, elevation, distanceM: spot?.distanceM ?? null, isDistanceEstimated: false, spot };
}

function meet(world: World, foot: Omit<Sighted, "ray" | "distanceM" | "normal">): LocatedSpot | null {
  const { right, down, rightDoubt, downDoubt, halfLengthM } = foot;
  const ray = { from: world.from, along: direct(world.axes, right, down) };
  const distanceM = meetGround(world.terrain, ray, world.limitM);
  if (distanceM === null) return null;
  const point = step(ray.from, ray.along, distanceM);
  const place = toGeodetic(point);
  const normal = findNormal(world.terrain, point, place);
  const covariance = spreadErrors(world, { ray, distanceM, normal, right, down, rightDoubt, downDoubt, halfLengthM });
  if (covariance === null) return null;
  const { latitude, longitude, heightM } = place;
  const { angle, positionM } = world.lasting;
  // Up or down the picture it goes further, by how flat the ray meets the ground.
  const lastingM = Math.hypot((angle * distanceM) / -dot(ray.along, normal), positionM);
  return { latitude, longitude, heightM, distanceM, point, covariance, lastingM };
}
