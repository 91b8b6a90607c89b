/**
 * Projects a position to a point of the image, independently of `geolocate`: the earth by reduced latitudes, north-east-down
 * instead of east-north-up, and the camera as a product of three elementary rotations, as in books on flight: yaw about
 * down, pitch about right, roll about ahead.
 */

type Matrix = readonly (readonly [number, number, number])[];
type Triple = readonly [number, number, number];

export interface Place3 {
  readonly latitude: number;
  readonly longitude: number;
  /** Metres above the ellipsoid. */
  readonly height: number;
}

export interface Projected {
  /** Fractions of the frame; outside of it below 0 or above 1. */
  readonly x: number;
  readonly y: number;
  readonly rangeM: number;
  readonly isAhead: boolean;
}

const rad = (degrees: number): number => (degrees * Math.PI) / 180;

const multiply = (a: Matrix, b: Matrix): Matrix =>
  a.map((row) => [0, 1, 2].map((j) => row.reduce((sum, value, k) => sum + value * (b[k]?.[j] ?? 0), 0)) as never);
const apply = (a: Matrix, v: Triple): Triple => a.map((row) => row[0] * v[0] + row[1] * v[1] + row[2] * v[2]) as never;

const aboutX = (t: number): Matrix => [
  [1, 0, 0],
  [0, Math.cos(t), Math.sin(t)],
  [0, -Math.sin(t), Math.cos(t)],
];
const aboutY = (t: number): Matrix => [
  [Math.cos(t), 0, -Math.sin(t)],
  [0, 1, 0],
  [Math.sin(t), 0, Math.cos(t)],
];
const aboutZ = (t: number): Matrix => [
  [Math.cos(t), Math.sin(t), 0],
  [-Math.sin(t), Math.cos(t), 0],
  [0, 0, 1],
];

/** By the reduced latitude, which needs no radius of curvature. */
export function centric({ latitude, longitude, height }: Place3): Triple {
  const [a, b] = [6378137, 6356752.314245179];
  const reduced = Math.atan2(b * Math.sin(rad(latitude)), a * Math.cos(rad(latitude)));
  const fromAxis = a * Math.cos(reduced) + height * Math.cos(rad(latitude));
  return [
    fromAxis * Math.cos(rad(longitude)),
    fromAxis * Math.sin(rad(longitude)),
    b * Math.sin(reduced) + height * Math.sin(rad(latitude)),
  ];
}

/** From ECEF to north, east, down: rotate about z by the longitude, then about y by the colatitude and a half turn. */
const toNorthEastDown = (latitude: number, longitude: number): Matrix =>
  multiply(aboutY(-rad(latitude) - Math.PI / 2), aboutZ(rad(longitude)));

export function project(
  camera: Place3 & { readonly yaw: number; readonly pitch: number; readonly roll: number },
  fov: { readonly hfov: number; readonly vfov: number },
  target: Place3,
): Projected {
  const [c, t] = [centric(camera), centric(target)];
  const offset: Triple = [t[0] - c[0], t[1] - c[1], t[2] - c[2]];
  const toBody = multiply(
    aboutX(rad(camera.roll)),
    multiply(
      aboutY(rad(camera.pitch)),
      multiply(aboutZ(rad(camera.yaw)), toNorthEastDown(camera.latitude, camera.longitude)),
    ),
  );
  const [ahead, right, down] = apply(toBody, offset);
  return {
    x: 0.5 + right / ahead / (2 * Math.tan(rad(fov.hfov) / 2)),
    y: 0.5 + down / ahead / (2 * Math.tan(rad(fov.vfov) / 2)),
    rangeM: Math.hypot(...offset),
    isAhead: ahead > 0,
  };
}
