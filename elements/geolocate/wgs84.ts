/**
 * The WGS-84 ellipsoid (NGA.STND.0036): between degrees and metres from the earth's centre (ECEF: x through latitude 0
 * longitude 0, z through the north pole). Works at the poles and the date line.
 */

/** A Cartesian vector, in metres or of unit length. */
export interface Vector {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

export const dot = (a: Vector, b: Vector): number => a.x * b.x + a.y * b.y + a.z * b.z;

export const cross = (a: Vector, b: Vector): Vector => ({
  x: a.y * b.z - a.z * b.y,
  y: a.z * b.x - a.x * b.z,
  z: a.x * b.y - a.y * b.x,
});

export const subtract = (a: Vector, b: Vector): Vector => ({ x: a.x - b.x, y: a.y - b.y, z: a.z - b.z });

/** `start + along · by`. */
export const step = (start: Vector, along: Vector, by: number): Vector => ({
  x: start.x + along.x * by,
  y: start.y + along.y * by,
  z: start.z + along.z * by,
});

/** `a · x + b · y + c · z`: from the frame with axes `a`, `b`, `c` to the frame they are given in. */
export const combine = (a: Vector, x: number, b: Vector, y: number, c: Vector, z: number): Vector => ({
  x: a.x * x + b.x * y + c.x * z,
  y: a.y * x + b.y * y + c.y * z,
  z: a.z * x + b.z * y + c.z * z,
});

export function normalise(vector: Vector): Vector {
  const length = Math.sqrt(dot(vector, vector));
  return { x: vector.x / length, y: vector.y / length, z: vector.z / length };
}

export const RADIANS = Math.PI / 180;

/** Semi-axes in metres. */
export const EQUATOR_M = 6_378_137;
const FLATTENING = 1 / 298.257223563;
export const POLE_M = EQUATOR_M * (1 - FLATTENING);
const ECCENTRICITY2 = FLATTENING * (2 - FLATTENING);
const SECOND_ECCENTRICITY2 = ECCENTRICITY2 / (1 - ECCENTRICITY2);

export interface Geodetic {
  /** Degrees. */
  readonly latitude: number;
  /** Degrees, from -180 to 180. */
  readonly longitude: number;
  /** Metres above the ellipsoid. */
  readonly heightM: number;
}

/** Unit vectors east, north and up at a position. */
export interface LocalFrame {
  readonly east: Vector;
  readonly north: Vector;
  readonly up: Vector;
}

export function toEcef({ latitude, longitude, heightM }: Geodetic): Vector {
  const sin = Math.sin(latitude * RADIANS);
  const cos = Math.cos(latitude * RADIANS);
  const normalM = EQUATOR_M / Math.sqrt(1 - ECCENTRICITY2 * sin * sin);
  const fromAxisM = (normalM + heightM) * cos;
  return {
    x: fromAxisM * Math.cos(longitude * RADIANS),
    y: fromAxisM * Math.sin(longitude * RADIANS),
    z: (normalM * (1 - ECCENTRICITY2) + heightM) * sin,
  };
}

/** Sine and cosine of the latitude, by two iterations of Bowring's formula: error below a micrometre at flight altitudes. */
function resolveLatitude(fromAxisM: number, z: number): { readonly sin: number; readonly cos: number } {
  let sin = z * EQUATOR_M;
  let cos = fromAxisM * POLE_M;
  for (let round = 0; round < 2; round++) {
    const reduced = Math.sqrt(sin * sin + cos * cos);
    const [reducedSin, reducedCos] = [sin / reduced, cos / reduced];
    sin = (z + SECOND_ECCENTRICITY2 * POLE_M * reducedSin ** 3) * (round === 0 ? 1 - FLATTENING : 1);
    cos = fromAxisM - ECCENTRICITY2 * EQUATOR_M * reducedCos ** 3;
  }
  const length = Math.sqrt(sin * sin + cos * cos);
  return { sin: sin / length, cos: cos / length };
}

const heightBy = (fromAxisM: number, z: number, sin: number, cos: number): number =>
  fromAxisM * cos + z * sin - EQUATOR_M * Math.sqrt(1 - ECCENTRICITY2 * sin * sin);

export function toGeodetic({ x, y, z }: Vector): Geodetic {
  const fromAxisM = Math.sqrt(x * x + y * y);
  const { sin, cos } = resolveLatitude(fromAxisM, z);
  return {
    latitude: Math.atan2(sin, cos) / RADIANS,
    longitude: Math.atan2(y, x) / RADIANS,
    heightM: heightBy(fromAxisM, z, sin, cos),
  };
}

/** Height above the ellipsoid and the up direction at a point, without trigonometry. */
export function heightAndUp({ x, y, z }: Vector): { readonly heightM: number; readonly up: Vector } {
  const fromAxisM = Math.sqrt(x * x + y * y);
  const { sin, cos } = resolveLatitude(fromAxisM, z);
  // On the axis the horizontal part is 0.
  const across = fromAxisM === 0 ? 0 : cos / fromAxisM;
  return { heightM: heightBy(fromAxisM, z, sin, cos), up: { x: x * across, y: y * across, z: sin } };
}

export function localFrame(latitude: number, longitude: number): LocalFrame {
  const sinLatitude = Math.sin(latitude * RADIANS);
  const cosLatitude = Math.cos(latitude * RADIANS);
  const sinLongitude = Math.sin(longitude * RADIANS);
  const cosLongitude = Math.cos(longitude * RADIANS);
  return {
    east: { x: -sinLongitude, y: cosLongitude, z: 0 },
    north: { x: -sinLatitude * cosLongitude, y: -sinLatitude * sinLongitude, z: cosLatitude },
    up: { x: cosLatitude * cosLongitude, y: cosLatitude * sinLongitude, z: sinLatitude },
  };
}
