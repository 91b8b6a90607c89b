/** Three numbers along three axes at right angles, in metres or of length 1. */
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

/** `a · x + b · y + c · z`: from the frame with the axes `a`, `b`, `c` to the one they are given in. */
export const combine = (a: Vector, x: number, b: Vector, y: number, c: Vector, z: number): Vector => ({
  x: a.x * x + b.x * y + c.x * z,
  y: a.y * x + b.y * y + c.y * z,
  z: a.z * x + b.z * y + c.z * z,
});

export function normalise(vector: Vector): Vector {
  const length = Math.sqrt(dot(vector, vector));
  return { x: vector.x / length, y: vector.y / length, z: vector.z / length };
}
