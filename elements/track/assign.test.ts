import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { Assigner } from "./assign.ts";

const matrix = fc
  .record({ rows: fc.integer({ min: 0, max: 5 }), columns: fc.integer({ min: 0, max: 5 }) })
  .chain((size) =>
    fc.record({
      rows: fc.constant(size.rows),
      columns: fc.constant(size.columns),
      // Few values, so that there are many ties, and forbidden pairs.
      costs: fc.array(fc.constantFrom(0, 0.1, 0.2, 0.3, 0.5, 0.7, 1, Number.POSITIVE_INFINITY), {
        minLength: size.rows * size.columns,
        maxLength: size.rows * size.columns,
      }),
      limit: fc.constantFrom(0.15, 0.5, 0.9, 2),
    }),
  );

function findLeast(costs: readonly number[], columns: number, limit: number, row: number, taken: number): number {
  if (row * columns >= costs.length) return 0;
  let least = limit + findLeast(costs, columns, limit, row + 1, taken);
  for (let column = 0; column < columns; column++) {
    const cost = costs[row * columns + column] as number;
    if ((taken >> column) & 1 || cost >= limit) continue;
    least = Math.min(least, cost + findLeast(costs, columns, limit, row + 1, taken | (1 << column)));
  }
  return least;
}

test("finds the minimum total cost", () => {
  const assigner = new Assigner();
  fc.assert(
    fc.property(matrix, ({ rows, columns, costs, limit }) => {
      const pairs = [...assigner.solve(Float64Array.from(costs), rows, columns, limit)];
      const total = pairs.reduce(
        (sum, column, row) => sum + (column < 0 ? limit : (costs[row * columns + column] as number)),
        0,
      );
      const least = columns === 0 ? rows * limit : findLeast(costs, columns, limit, 0, 0);
      assert.ok(Math.abs(total - least) < 1e-9, `${total} instead of ${least}`);
    }),
    { numRuns: 2000 },
  );
});

test("assigns no column twice and no pair at the limit", () => {
  const assigner = new Assigner();
  fc.assert(
    fc.property(matrix, ({ rows, columns, costs, limit }) => {
      const pairs = [...assigner.solve(Float64Array.from(costs), rows, columns, limit)];
      const given = pairs.filter((column) => column >= 0);
      assert.equal(pairs.length, rows);
      assert.equal(new Set(given).size, given.length);
      for (const [row, column] of pairs.entries())
        assert.ok(column < 0 || (costs[row * columns + column] as number) < limit);
    }),
  );
});

test("a row releases its column to one that needs it more", () => {
  const costs = Float64Array.of(0.1, 0.2, 0.1, 0.9);
  assert.deepEqual([...new Assigner().solve(costs, 2, 2, 1)], [1, 0]);
});

test("pairs five hundred close objects with themselves", () => {
  const count = 500;
  const costs = new Float64Array(count * count);
  for (let row = 0; row < count; row++)
    for (let column = 0; column < count; column++) costs[row * count + column] = Math.abs(row - column) / 20;
  const pairs = new Assigner().solve(costs, count, count, 1);
  assert.ok(pairs.every((column, row) => column === row));
});
