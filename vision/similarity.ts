/** Fits a similarity transform (rotation, zoom, shift) to point pairs, with RANSAC against outliers. */
import type { CameraMotion } from "../schemas/camera-motion.ts";

/** Distance in pixels up to which a point is an inlier. */
const TOLERANCE = 0.8;
const TRIALS = 60;
/** Share of inliers at which the search stops. */
const ENOUGH_SHARE = 0.85;
/** With fewer inliers, or a smaller share, the motion may be that of objects. */
const LEAST = 12;
const LEAST_SHARE = 0.4;
const ROUNDS = 2;
/** Least sum of squared distances from the centroid, in pixels. */
const LEAST_SIZE = 1;

/**
 * The motion with the most inliers, or null when it is not reliable. Points are interleaved x and y; lost points are NaN.
 * Samples come from a fixed random sequence: the same points give the same motion.
 */
export function fitSimilarity(before: Float32Array, after: Float32Array): CameraMotion | null {
  const known = listKnown(after);
  if (known.length < LEAST) return null;
  let chosen: CameraMotion | null = null;
  let most = 0;
  let seed = 1;
  const draw = (): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return known[seed % known.length] as number;
  };
  for (let trial = 0; trial < TRIALS && most < ENOUGH_SHARE * known.length; trial++) {
    const motion = fitLeastSquares(before, after, [draw(), draw()], LEAST_SIZE);
    if (motion === null) continue;
    let count = 0;
    for (const i of known) if (isNear(before, after, i, motion)) count++;
    if (count <= most) continue;
    most = count;
    chosen = motion;
  }
  let agreeing: readonly number[] = [];
  for (let round = 0; round <= ROUNDS; round++) {
    const motion: CameraMotion | null = chosen;
    if (motion === null) return null;
    agreeing = known.filter((i) => isNear(before, after, i, motion));
    chosen = fitLeastSquares(before, after, agreeing, LEAST_SIZE);
  }
  return agreeing.length < Math.max(LEAST, LEAST_SHARE * known.length) ? null : chosen;
}

function listKnown(points: Float32Array): readonly number[] {
  const known: number[] = [];
  for (let i = 0; i < points.length; i += 2) if (!Number.isNaN(points[i])) known.push(i);
  return known;
}

/** Points are interleaved x and y; `points` holds the indices of those to use. Null when they nearly coincide. */
export function fitLeastSquares(
  before: ArrayLike<number>,
  after: ArrayLike<number>,
  points: readonly number[],
  leastSize: number,
): CameraMotion | null {
  let [x, y, toX, toY] = [0, 0, 0, 0];
  for (const i of points) {
    x += (before[i] as number) / points.length;
    y += (before[i + 1] as number) / points.length;
    toX += (after[i] as number) / points.length;
    toY += (after[i + 1] as number) / points.length;
  }
  let [along, across, size] = [0, 0, 0];
  for (const i of points) {
    const right = (before[i] as number) - x;
    const down = (before[i + 1] as number) - y;
    const toRight = (after[i] as number) - toX;
    const toDown = (after[i + 1] as number) - toY;
    along += right * toRight + down * toDown;
    across += right * toDown - down * toRight;
    size += right * right + down * down;
  }
  if (size < leastSize) return null;
  const a = along / size;
  const b = across / size;
  return { a, b, right: toX - a * x + b * y, down: toY - b * x - a * y };
}

function isNear(before: Float32Array, after: Float32Array, i: number, { a, b, right, down }: CameraMotion): boolean {
  const x = before[i] as number;
  const y = before[i + 1] as number;
  const offX = a * x - b * y + right - (after[i] as number);
  const offY = b * x + a * y + down - (after[i + 1] as number);
  return offX * offX + offY * offY < TOLERANCE * TOLERANCE;
}
