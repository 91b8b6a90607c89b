/**
 * Attitudes as unit quaternions, from the axes of the camera (forward, right, down) to those of the world (north, east,
 * down): yaw about down, then pitch about right, then roll about forward. Positions as up directions.
 */
import type { CameraAttitude } from "../../schemas/telemetry.ts";

export type Quaternion = readonly [w: number, x: number, y: number, z: number];
export type Vector = readonly [x: number, y: number, z: number];

const HALF = Math.PI / 360;
const DEGREES = 180 / Math.PI;

export function toQuaternion({ yaw, pitch, roll }: CameraAttitude): Quaternion {
  const [cy, sy] = [Math.cos(yaw * HALF), Math.sin(yaw * HALF)];
  const [cp, sp] = [Math.cos(pitch * HALF), Math.sin(pitch * HALF)];
  const [cr, sr] = [Math.cos(roll * HALF), Math.sin(roll * HALF)];
  return [
    cr * cp * cy + sr * sp * sy,
    sr * cp * cy - cr * sp * sy,
    cr * sp * cy + sr * cp * sy,
    cr * cp * sy - sr * sp * cy,
  ];
}

/** Looking straight up or down, yaw and roll have the same axis: all of it is returned as yaw. */
export function toAttitude([w, x, y, z]: Quaternion): CameraAttitude {
  const sine = 2 * (w * y - x * z);
  // Not by the arc sine: near the pole it loses half of the digits.
  const cosine = Math.hypot(1 - 2 * (y * y + z * z), 2 * (x * y + w * z));
  const pitch = Math.atan2(sine, cosine) * DEGREES;
  if (cosine < 1e-7)
    return { yaw: Math.atan2(-2 * (x * y - w * z), 1 - 2 * (x * x + z * z)) * DEGREES, pitch, roll: 0 };
  return {
    yaw: Math.atan2(2 * (x * y + w * z), 1 - 2 * (y * y + z * z)) * DEGREES,
    pitch,
    roll: Math.atan2(2 * (w * x + y * z), 1 - 2 * (x * x + y * y)) * DEGREES,
  };
}

const multiply = ([a, b, c, d]: Quaternion, [w, x, y, z]: Quaternion): Quaternion => [
  a * w - b * x - c * y - d * z,
  a * x + b * w + c * z - d * y,
  a * y - b * z + c * w + d * x,
  a * z + b * y - c * x + d * w,
];

const invert = ([w, x, y, z]: Quaternion): Quaternion => [w, -x, -y, -z];

/** The shortest rotation from one attitude to the other: an axis in the world, with the angle in degrees as its length. */
export function findTurn(from: Quaternion, to: Quaternion): Vector {
  let [w, x, y, z] = multiply(to, invert(from));
  if (w < 0) [w, x, y, z] = [-w, -x, -y, -z];
  const sine = Math.hypot(x, y, z);
  const scale = sine < 1e-12 ? 2 * DEGREES : (2 * Math.atan2(sine, w) * DEGREES) / sine;
  return [x * scale, y * scale, z * scale];
}

/** Rotates about an axis in the world, with the angle in degrees as its length. */
export function turnBy(from: Quaternion, [x, y, z]: Vector): Quaternion {
  const angle = Math.hypot(x, y, z);
  const scale = angle < 1e-12 ? HALF : Math.sin(angle * HALF) / angle;
  return multiply([Math.cos(angle * HALF), x * scale, y * scale, z * scale], from);
}

/** From the axes of the camera to those of the world. */
export function rotate([w, x, y, z]: Quaternion, [a, b, c]: Vector): Vector {
  const [tx, ty, tz] = [2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)];
  return [a + w * tx + y * tz - z * ty, b + w * ty + z * tx - x * tz, c + w * tz + x * ty - y * tx];
}

/** From the axes of the world to those of the camera. */
export const rotateBack = (attitude: Quaternion, vector: Vector): Vector => rotate(invert(attitude), vector);

const RADIANS = Math.PI / 180;
/** WGS-84: semi-major axis in metres, and the square of the eccentricity. */
const EQUATOR = 6_378_137;
const SQUARE = 6.694_379_990_14e-3;

/**
 * The up direction at a position, which has no singularity at the date line or the poles. Over the few metres between two
 * samples, a straight line between directions is the line over the ground.
 */
export function toUp(latitude: number, longitude: number): Vector {
  const across = Math.cos(latitude * RADIANS);
  return [across * Math.cos(longitude * RADIANS), across * Math.sin(longitude * RADIANS), Math.sin(latitude * RADIANS)];
}

/** Accepts vectors of any length. */
export const toPlace = ([x, y, z]: Vector): { latitude: number; longitude: number } => ({
  latitude: Math.atan2(z, Math.hypot(x, y)) / RADIANS,
  longitude: Math.atan2(y, x) / RADIANS,
});

/** Metres north and east between two nearby positions. */
export function measure(from: Vector, to: Vector): readonly [northM: number, eastM: number] {
  const across = Math.hypot(from[0], from[1]);
  // At a pole, north is along longitude 0, as in `toPlace`.
  const [cosine, sine] = across < 1e-12 ? [1, 0] : [from[0] / across, from[1] / across];
  const [x, y, z] = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
  const east = -sine * x + cosine * y;
  const north = -from[2] * (cosine * x + sine * y) + across * z;
  const flat = 1 - SQUARE * from[2] * from[2];
  const eastRadius = EQUATOR / Math.sqrt(flat);
  return [(north * eastRadius * (1 - SQUARE)) / flat, east * eastRadius];
}
