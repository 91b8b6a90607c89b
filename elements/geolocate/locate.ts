/** Locates an object by the ray through its box, and computes the error of the position. Pure. */
import type { Box } from "../../schemas/detections.ts";
import type { ErrorEllipse } from "../../schemas/places.ts";
import type { CameraAttitude, CameraPosition, FrameTelemetry } from "../../schemas/telemetry.ts";
import { geoidHeightM } from "../../terrain/geoid.ts";
import {
  azimuthDeg,
  type CameraAxes,
  direct,
  elevationDeg,
  estimateDistanceM,
  isCutAside,
  isCutBelow,
  type Lens,
  makeLens,
  offsetDown,
  offsetRight,
  turnCamera,
} from "./camera.ts";
import { findNormal, levelTerrain, meetGround, type Ray, type Terrain, type UnknownGround } from "./ground.ts";
import type { Kind } from "./sizes.ts";
import {
  combine,
  cross,
  dot,
  type LocalFrame,
  localFrame,
  normalise,
  RADIANS,
  step,
  toEcef,
  toGeodetic,
  type Vector,
} from "./wgs84.ts";

/** See geolocate.ts. */
export interface GeolocateProperties {
  readonly maxDistanceM: number;
  readonly geoidSeparationM: "auto" | number;
  readonly attitudeErrorDeg: number;
  readonly headingErrorDeg: number;
  readonly lensError: number;
  readonly positionErrorM: number;
  readonly heightErrorM: number;
  readonly terrainErrorM: number;
  readonly footError: number;
}

/** Height of mean sea level above the ellipsoid at a place. */
export const separationM = (
  { geoidSeparationM }: Pick<GeolocateProperties, "geoidSeparationM">,
  latitude: number,
  longitude: number,
): number => (geoidSeparationM === "auto" ? geoidHeightM(latitude, longitude) : geoidSeparationM);

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
  /** The terrain is not known there: level ground is assumed. */
  readonly isAssumed: boolean;
}

/** Foot error of a box cut off by the edge of the frame: half of its visible size. */
const CUT_FOOT_ERROR = 0.5;

/**
 * An object on the ground is located at its foot, the middle of the lower edge of its box. An airborne object is located
 * at the middle of its box, without a ground position. Without a known camera pose, at the horizon or beyond the distance
 * limit, an object on the ground has only angles.
 */
export function locate({ lens, world }: Sight, box: Box, { isAirborne, size }: Kind, footError: number): Located {
  const [left, top, width, height] = box;
  const right = offsetRight(lens, left + width / 2);
  const down = offsetDown(lens, isAirborne ? top + height / 2 : top + height);
  // Written out here and below: object spread costs more than the geometry.
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
  const met = findDistance(world, ray);
  if (met === null) return null;
  const { distanceM, isAssumed } = met;
  const point = step(ray.from, ray.along, distanceM);
  const place = toGeodetic(point);
  const normal = findNormal(isAssumed ? world.level : world.terrain, point, place);
  const covariance = spreadErrors(world, { ray, distanceM, normal, right, down, rightDoubt, downDoubt, halfLengthM });
  if (covariance === null) return null;
  const { latitude, longitude, heightM } = place;
  const { angle, positionM } = world.lasting;
  // Along the view the error grows with the obliqueness of the ray.
  const lastingM = Math.hypot((angle * distanceM) / -dot(ray.along, normal), positionM);
  return { latitude, longitude, heightM, distanceM, point, covariance, lastingM, isAssumed };
}

/** Metres along the ray to the ground; null if it meets none. Where the terrain is unknown, the ground is assumed to be level. */
export function findDistance(
  world: World,
  ray: Ray,
): { readonly distanceM: number; readonly isAssumed: boolean } | null {
  const met = meetGround(world.terrain, ray, world.limitM);
  const isAssumed = typeof met === "object" && met !== null;
  const distanceM = isAssumed ? meetAssumed(world, ray, met) : met;
  return distanceM === null ? null : { distanceM, isAssumed };
}

/** Null if the level ground is met where the terrain is known: it is not there. */
function meetAssumed({ level, limitM }: World, ray: Ray, { knownM }: UnknownGround): number | null {
  const distanceM = meetGround(level, ray, limitM);
  return typeof distanceM === "number" && distanceM >= knownM ? distanceM : null;
}

/** What the telemetry of a frame allows to compute. */
export interface Sight {
  readonly lens: Lens;
  /** Null: angles and estimated distances only. */
  readonly world: World | null;
  /** Why `world` is null, or its ground is level although there is terrain. */
  readonly reason: string | null;
}

export interface World extends DoubtedCamera {
  /** Camera position, ECEF. */
  readonly from: Vector;
  readonly terrain: Terrain;
  /** Where the height of the terrain is unknown: at the height that the telemetry gives for the ground below the camera. */
  readonly level: Terrain;
  readonly limitM: number;
  /** The part of the errors that persists from frame to frame. Radians and metres. */
  readonly lasting: { readonly angle: number; readonly positionM: number };
}

const LATE =
  "the last position or attitude of the camera is too old for this frame: send telemetry more often than `extrapolate-ms` of the element `telemetry`";

/** Null if the fields of view are invalid. Where the terrain is unknown, the ground is level. */
export function openSight(
  telemetry: FrameTelemetry,
  properties: GeolocateProperties,
  terrain: Terrain | null,
): Sight | null {
  const { hfov, vfov, position, attitude, isLate } = telemetry;
  if (!isFieldOfView(hfov) || !isFieldOfView(vfov)) return null;
  const lens = makeLens(hfov, vfov);
  const lack = isLate ? LATE : findLack(position, attitude);
  if (lack !== null || position === null || attitude === null) return { lens, world: null, reason: lack };
  const { latitude, longitude, altitude, relAltitude } = position;
  const heightM = altitude + separationM(properties, latitude, longitude);
  const reason = terrain === null ? null : findTerrainLack(terrain, position, heightM);
  const known = reason === null ? terrain : null;
  if (known === null && relAltitude <= 0) return { lens, world: null, reason: NOT_ABOVE };
  return { lens, world: openWorld(heightM, position, attitude, known, telemetry, properties), reason };
}

const isFieldOfView = (degrees: number): boolean => degrees > 0 && degrees < 180;

const NOT_ABOVE = "the camera is not above the ground: rel_altitude is 0 or less";

function findLack(position: CameraPosition | null, attitude: CameraAttitude | null): string | null {
  if (position === null && attitude === null) return "the telemetry has neither the camera's position nor its attitude";
  if (position === null) return "the telemetry does not have the camera's position";
  if (attitude === null) return "the telemetry does not have the camera's attitude";
  if (![...Object.values(position), ...Object.values(attitude)].every(Number.isFinite))
    return "the telemetry has a position or an attitude that is not a number";
  return null;
}

/** Why the terrain cannot be used for this camera position; null if it can. Coarse numbers: changes are announced. */
function findTerrainLack(terrain: Terrain, { latitude, longitude, altitude }: CameraPosition, heightM: number) {
  const groundM = terrain.heightAt(latitude, longitude);
  if (Number.isNaN(groundM))
    return `there is no terrain data at latitude ${latitude.toFixed(1)}, longitude ${longitude.toFixed(1)}: level ground is assumed. The operator can add a file for it to terrain.folder`;
  if (heightM > groundM) return null;
  const belowM = Math.ceil((groundM - heightM) / 10) * 10;
  return `the camera would be up to ${belowM} m below the terrain, at an altitude of about ${Math.round(altitude / 10) * 10} m: level ground is assumed. Check that altitude is above mean sea level`;
}

/** `heightM`: of the camera above the ellipsoid. Without a terrain, the ground is level. */
function openWorld(
  heightM: number,
  { latitude, longitude, relAltitude }: CameraPosition,
  attitude: CameraAttitude,
  terrain: Terrain | null,
  { doubt, lasting, heading }: FrameTelemetry,
  properties: GeolocateProperties,
): World {
  const local = localFrame(latitude, longitude);
  const level = levelTerrain(heightM - relAltitude);
  return {
    from: toEcef({ latitude, longitude, heightM }),
    local,
    axes: turnCamera(attitude, local),
    ...{ terrain: terrain ?? level, level },
    limitM: properties.maxDistanceM,
    lasting: { angle: (lasting?.angle ?? 0) * RADIANS, positionM: lasting?.position ?? 0 },
    doubts: {
      attitude: Math.hypot(properties.attitudeErrorDeg, doubt.angle) * RADIANS,
      heading: (heading?.error ?? properties.headingErrorDeg) * RADIANS,
      lens: properties.lensError,
      positionM: Math.hypot(properties.positionErrorM, doubt.position),
      heightM: Math.hypot(properties.heightErrorM, doubt.height, terrain === null ? 0 : properties.terrainErrorM),
    },
  };
}

/** Input errors, one standard deviation each. */
interface Doubts {
  /** Radians, about each axis of the camera. */
  readonly attitude: number;
  /** Radians, about the vertical, in addition. */
  readonly heading: number;
  /** Fraction of the fields of view. */
  readonly lens: number;
  /** Metres across the ground, both directions together. */
  readonly positionM: number;
  readonly heightM: number;
}

interface DoubtedCamera {
  readonly axes: CameraAxes;
  readonly local: LocalFrame;
  readonly doubts: Doubts;
}

/** A ray that meets the ground, and its origin in the image: see camera.ts for `right` and `down`. */
interface Sighted {
  readonly ray: Ray;
  readonly distanceM: number;
  /** Unit normal of the ground. */
  readonly normal: Vector;
  readonly right: number;
  readonly down: number;
  /** One standard deviation of both. */
  readonly rightDoubt: number;
  readonly downDoubt: number;
  /** Metres on the ground from the foot of the box, the nearest point of the object, to its middle; 0 if unknown. */
  readonly halfLengthM: number;
}

/** Covariance of a position in square metres, ECEF. */
export interface Covariance {
  xx: number;
  xy: number;
  xz: number;
  yy: number;
  yz: number;
  zz: number;
}

/** One standard deviation: root mean square of the distance. */
export const errorM = ({ xx, yy, zz }: Covariance): number => Math.sqrt(xx + yy + zz);

/** The error on the ground, by direction. */
export function ellipseOf({ xx, xy, xz, yy, yz, zz }: Covariance, { east, north }: LocalFrame): ErrorEllipse {
  const between = (a: Vector, b: Vector): number =>
    a.x * (xx * b.x + xy * b.y + xz * b.z) +
    a.y * (xy * b.x + yy * b.y + yz * b.z) +
    a.z * (xz * b.x + yz * b.y + zz * b.z);
  const [ee, en, nn] = [between(east, east), between(east, north), between(north, north)];
  const [middle, apart] = [(ee + nn) / 2, Math.hypot((nn - ee) / 2, en)];
  const degrees = Math.atan2(en, (nn - ee) / 2) / 2 / RADIANS;
  return {
    majorM: Math.sqrt(middle + apart),
    minorM: Math.sqrt(Math.max(0, middle - apart)),
    direction: degrees < 0 ? degrees + 180 : degrees,
  };
}

/** Where the middle of the picture is on the ground; null at or above the horizon. */
export const locateCentre = ({ world }: Sight): LocatedSpot | null =>
  world === null ? null : meet(world, { right: 0, down: 0, rightDoubt: 0, downDoubt: 0, halfLengthM: 0 });

/**
 * Propagates the input errors (angles, lens, foot of the box, position and height of the camera) to the position, to
 * first order: each cause tilts or shifts the ray, and the ground is approximated by its tangent plane. Null at the
 * horizon, where the smallest change of an angle loses the ground.
 */
function spreadErrors({ axes, local, doubts }: DoubtedCamera, sighted: Sighted): Covariance | null {
  const { ray, distanceM, normal, right, down } = sighted;
  const falling = -dot(ray.along, normal);
  if (!(falling > 0)) return null;
  const sum: Covariance = { xx: 0, xy: 0, xz: 0, yy: 0, yz: 0, zz: 0 };
  /** Adds the movement of the position when the ray is shifted sideways by `metres` where it meets the ground. */
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
