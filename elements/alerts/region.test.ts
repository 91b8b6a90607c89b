import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { area, contains, findCrossing, flatten, type Point } from "./region.ts";

const onGrid = fc.tuple(fc.integer({ min: -6, max: 6 }), fc.integer({ min: -6, max: 6 }));
const corners = fc.uniqueArray(onGrid, { minLength: 3, maxLength: 8, selector: ([x, y]) => x * 100 + y });

/** Corners sorted by angle around an inner point never cross; checked nevertheless. */
const simple = corners
  .map((points) =>
    [...points].sort(([ax, ay], [bx, by]) => Math.atan2(ay + 0.1, ax + 0.2) - Math.atan2(by + 0.1, bx + 0.2)),
  )
  .filter((points) => area(points) > 0 && findCrossing(points) === null);

const edges = (polygon: readonly Point[]) =>
  polygon.map((a, i) => [a, polygon[(i + 1) % polygon.length] as Point] as const);

/** Exact for whole numbers: whether the point lies on the edge. */
const isOnEdge = (polygon: readonly Point[], [x, y]: Point): boolean =>
  edges(polygon).some(
    ([[ax, ay], [bx, by]]) =>
      (bx - ax) * (y - ay) === (by - ay) * (x - ax) && (x - ax) * (x - bx) <= 0 && (y - ay) * (y - by) <= 0,
  );

/** By how often the edges wind around the point, from their angles. */
function windings(polygon: readonly Point[], [x, y]: Point): number {
  const turned = edges(polygon).reduce((sum, [[ax, ay], [bx, by]]) => {
    const [ux, uy, vx, vy] = [ax - x, ay - y, bx - x, by - y];
    return sum + Math.atan2(ux * vy - uy * vx, ux * vx + uy * vy);
  }, 0);
  return Math.round(turned / (2 * Math.PI));
}

test("a point is inside where the edges wind around it, and on the edge", () => {
  fc.assert(
    fc.property(simple, onGrid, (polygon, point) => {
      const expected = isOnEdge(polygon, point) || windings(polygon, point) !== 0;
      assert.equal(contains(flatten(polygon), point[0], point[1]), expected);
      assert.equal(contains(flatten([...polygon].reverse()), point[0], point[1]), expected);
    }),
    { numRuns: 1000 },
  );
});

/** Intersection of two segments by its parameters, in whole numbers: exact, and independent of `turn`. */
function meet([a, b]: readonly [Point, Point], [c, d]: readonly [Point, Point]): boolean {
  const det = (b[0] - a[0]) * (c[1] - d[1]) - (b[1] - a[1]) * (c[0] - d[0]);
  const [ex, ey] = [c[0] - a[0], c[1] - a[1]];
  if (det === 0) return [c, d].some((p) => isOnEdge([a, b], p)) || [a, b].some((p) => isOnEdge([c, d], p));
  const t = (ex * (c[1] - d[1]) - ey * (c[0] - d[0])) / det;
  const u = ((b[0] - a[0]) * ey - (b[1] - a[1]) * ex) / det;
  return t >= 0 && t <= 1 && u >= 0 && u <= 1;
}

test("a polygon crosses itself where two edges meet that are not adjacent, or adjacent edges overlap", () => {
  fc.assert(
    fc.property(fc.array(onGrid, { minLength: 3, maxLength: 7 }), (polygon) => {
      const all = edges(polygon);
      const isOverlapping = (i: number) => {
        const [[a, corner], [, b]] = [all[i] as (typeof all)[0], all[(i + 1) % all.length] as (typeof all)[0]];
        const isFlat = (corner[0] - a[0]) * (b[1] - corner[1]) === (corner[1] - a[1]) * (b[0] - corner[0]);
        // Running on, and not back: the corner lies between the two.
        const isOn = isFlat && isOnEdge([a, b], corner) && !(a[0] === corner[0] && a[1] === corner[1]);
        return isFlat && !(isOn && !(b[0] === corner[0] && b[1] === corner[1]));
      };
      const expected = all.some(
        (one, i) =>
          isOverlapping(i) ||
          all.some((other, j) => j > i + 1 && !(i === 0 && j === all.length - 1) && meet(one, other)),
      );
      assert.equal(findCrossing(polygon) !== null, expected, JSON.stringify(polygon));
    }),
    { numRuns: 1000 },
  );
});
