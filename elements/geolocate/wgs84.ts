/**
 * The WGS-84 ellipsoid (NGA.STND.0036): between degrees and metres from the earth's centre (ECEF: x through latitude 0
 * longitude 0, z through the north pole). Nothing here minds the poles or the date line.
 */
import type { Vector } from "./vector.ts";

export const RADIANS = Math.PI / 180;

/** Metres: of the equator, and from the centre to a pole. */
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

/** The directions east, north and up at a place, of length 1. */
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

/** Bowring's formula, twice: to less than a millionth of a metre from the deepest sea to far beyond what flies. */
export function toGeodetic({ x, y, z }: Vector): Geodetic {
  const fromAxisM = Math.sqrt(x * x + y * y);
  let sin = z * EQUATOR_M;
  let cos = fromAxisM * POLE_M;
  for (let round = 0; ; round++) {
    const length = Math.sqrt(sin * sin + cos * cos);
    sin /= length;
    cos /= length;
    const top = z + SECOND_ECCENTRICITY2 * POLE_M * sin * sin * sin;
    const bottom = fromAxisM - ECCENTRICITY2 * EQUATOR_M * cos * cos * cos;
    if (round === 1) {
      const along = Math.sqrt(top * top + bottom * bottom);
      const sinLatitude = top / along;
      return {
        latitude: Math.atan2(top, bottom) / RADIANS,
        longitude: Math.atan2(y, x) / RADIANS,
        heightM:
          fromAxisM * (bottom / along) +
          z * sinLatitude -
          EQUATOR_M * Math.sqrt(1 - ECCENTRICITY2 * sinLatitude * sinLatitude),
      };
    }
    sin = top * (1 - FLATTENING);
    cos = bottom;
  }
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
