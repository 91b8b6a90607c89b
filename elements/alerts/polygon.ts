/** Polygons in the plane: points in order, closed from the last one to the first. */
export type Point = readonly [x: number, y: number];

const EMPTY: Point = [0, 0];
const at = (points: readonly Point[], index: number): Point => points[index % points.length] ?? EMPTY;

/** Positive where c is on one side of the way from a to b, negative on the other, 0 in line with it. */
export const turn = (a: Point, b: Point, c: Point): number =>
  (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);

/** A polygon that many points are held against: x, y, x, y … */
export const flatten = (polygon: readonly Point[]): Float64Array => Float64Array.from(polygon.flat());

/** The edge belongs to it. */
export function contains(flat: Float64Array, x: number, y: number): boolean {
  let isInside = false;
  let ax = flat[flat.length - 2] ?? 0;
  let ay = flat[flat.length - 1] ?? 0;
  for (let i = 0; i < flat.length; i += 2) {
    const bx = flat[i] ?? 0;
    const by = flat[i + 1] ?? 0;
    const side = (bx - ax) * (y - ay) - (by - ay) * (x - ax);
    if (side === 0 && isBetween(x, ax, bx) && isBetween(y, ay, by)) return true;
    // Half-open in y, so that a ray through a corner meets one of the two edges there and not both.
    if (ay > y !== by > y && side > 0 === by > ay) isInside = !isInside;
    ax = bx;
    ay = by;
  }
  return isInside;
}

const isBetween = (value: number, a: number, b: number): boolean =>
  (a <= value && value <= b) || (b <= value && value <= a);

export function area(polygon: readonly Point[]): number {
  let sum = 0;
  for (const [i, [x, y]] of polygon.entries()) {
    const [nextX, nextY] = at(polygon, i + 1);
    sum += x * nextY - nextX * y;
  }
  return Math.abs(sum) / 2;
}

/** The first two edges that meet where they should not, each by the number of its first point. */
export function findCrossing(polygon: readonly Point[]): readonly [first: number, second: number] | null {
  const { length } = polygon;
  for (let i = 0; i < length; i++)
    for (let j = i + 1; j < length; j++) {
      const [a, b, c, d] = [at(polygon, i), at(polygon, i + 1), at(polygon, j), at(polygon, j + 1)];
      const meets =
        j === i + 1 ? isBackward(a, b, d) : i === 0 && j === length - 1 ? isBackward(c, d, b) : doMeet(a, b, c, d);
      if (meets) return [i, j];
    }
  return null;
}

/** Neighbours share a corner. They must not share more: the second running back over the first, or being no edge at all. */
function isBackward(a: Point, corner: Point, b: Point): boolean {
  if (turn(a, corner, b) !== 0) return false;
  return (corner[0] - a[0]) * (b[0] - corner[0]) + (corner[1] - a[1]) * (b[1] - corner[1]) <= 0;
}

/** Whether two segments have a point in common, ends included. */
function doMeet(a: Point, b: Point, c: Point, d: Point): boolean {
  const [abc, abd, cda, cdb] = [turn(a, b, c), turn(a, b, d), turn(c, d, a), turn(c, d, b)];
  if (abc > 0 !== abd > 0 && abc !== 0 && abd !== 0 && cda > 0 !== cdb > 0 && cda !== 0 && cdb !== 0) return true;
  return (
    (abc === 0 && isOn(a, b, c)) ||
    (abd === 0 && isOn(a, b, d)) ||
    (cda === 0 && isOn(c, d, a)) ||
    (cdb === 0 && isOn(c, d, b))
  );
}

const isOn = (a: Point, b: Point, point: Point): boolean =>
  isBetween(point[0], a[0], b[0]) && isBetween(point[1], a[1], b[1]);
