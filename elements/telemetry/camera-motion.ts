/** How the image of the ground moves when the camera rotates and moves. */
import type { CameraMotion } from "../../schemas/camera-motion.ts";
import { fitLeastSquares } from "../../vision/similarity.ts";
import { measure, type Quaternion, rotate, rotateBack, type Vector } from "./geometry.ts";
import type { Spot, View } from "./samples.ts";

export interface Camera {
  readonly view: View;
  readonly attitude: Quaternion;
  readonly spot: Spot | null;
}

/** Sampled points of the image, in fractions of its sides. */
const GRID = [0.1, 0.3, 0.5, 0.7, 0.9];
const MIN_POINTS = 8;
/** Ground farther away than this many heights hardly moves by translation: it counts as the horizon. */
const FURTHEST = 100;

type Point = readonly [x: number, y: number];

/** From the image of one camera to that of the other, in heights of the frame; null if they share too little. */
export function findCameraMotion(from: Camera, to: Camera, aspect: number): CameraMotion | null {
  const before: number[] = [];
  const after: number[] = [];
  const project = openProjection(from, to, aspect);
  for (const right of GRID)
    for (const down of GRID) {
      const point = project([right * aspect, down]);
      if (point === null) continue;
      before.push(right * aspect, down);
      after.push(...point);
    }
  const points = [...before.keys()].filter((i) => i % 2 === 0);
  return points.length < MIN_POINTS ? null : fitLeastSquares(before, after, points, 1e-6);
}

/** Motion of the middle of the image, in heights of the frame. */
export function findCentreShift(from: Camera, to: Camera, aspect: number): Point | null {
  const point = openProjection(from, to, aspect)([aspect / 2, 0.5]);
  return point === null ? null : [point[0] - aspect / 2, point[1] - 0.5];
}

/** Maps a point of the first image to the second; null if it is behind that camera. */
function openProjection(from: Camera, to: Camera, aspect: number): (point: Point) => Point | null {
  const lens = openLens(from.view, aspect);
  const nextLens = openLens(to.view, aspect);
  const flown = from.spot === null || to.spot === null ? null : findFlight(from.spot, to.spot);
  const heightM = from.spot?.relAltitude ?? 0;
  return ([x, y]) => {
    const ray = rotate(from.attitude, [1, (x - aspect / 2) / lens[0], (y - 0.5) / lens[1]]);
    const away = flown === null || heightM <= 0 ? ray : subtract(ray, flown, heightM);
    const [forward, right, down] = rotateBack(to.attitude, away);
    if (forward <= 1e-3 * Math.hypot(right, down)) return null;
    return [aspect / 2 + (nextLens[0] * right) / forward, 0.5 + (nextLens[1] * down) / forward];
  };
}

/** Focal lengths in heights of the frame: right and down. */
const openLens = ({ hfov, vfov }: View, aspect: number): Point => [
  aspect / 2 / Math.tan((hfov * Math.PI) / 360),
  0.5 / Math.tan((vfov * Math.PI) / 360),
];

/** Metres north, east, down. */
function findFlight(from: Spot, to: Spot): Vector {
  const [northM, eastM] = measure(from.up, to.up);
  return [northM, eastM, from.altitude - to.altitude];
}

/** Direction to the ground point of a ray after a translation; the ray itself if it meets no ground nearby. */
function subtract(ray: Vector, [northM, eastM, downM]: Vector, heightM: number): Vector {
  if (ray[2] * FURTHEST < Math.hypot(ray[0], ray[1])) return ray;
  const lengthM = heightM / ray[2];
  return [ray[0] * lengthM - northM, ray[1] * lengthM - eastM, heightM - downM];
}
