import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Candidates } from "./decoder.ts";
import { toRows } from "./outputs.fixture.ts";
import { suppress } from "./suppress.ts";

type Row = readonly [left: number, top: number, right: number, bottom: number, score: number, classId: number];

const toCandidates = (rows: readonly Row[]): Candidates => ({
  count: rows.length,
  boxes: Float32Array.from(rows.flatMap((row) => row.slice(0, 4))),
  scores: Float32Array.from(rows.map((row) => row[4])),
  classIds: Int32Array.from(rows.map((row) => row[5])),
});

const suppressed = (rows: readonly Row[], overlap = 0.5, limit = 100) =>
  toRows(suppress(toCandidates(rows), { overlap, limit }));

test("keeps the best of an overlapping group", () => {
  const rows: readonly Row[] = [
    [0, 0, 10, 10, 0.5, 0],
    [1, 0, 11, 10, 0.75, 0],
    [20, 0, 30, 10, 0.25, 0],
  ];
  assert.deepEqual(suppressed(rows), [[0.6, 0, 10.6, 10, 0.75, 0], rows[2]]);
});

test("halves the score of a single find and averages two where objects are found often", () => {
  const rows: readonly Row[] = [
    [0, 0, 10, 10, 0.75, 0],
    [20, 0, 30, 10, 0.5, 0],
    [20, 0, 30, 10, 0.375, 0],
    [20, 0, 30, 10, 0.25, 0],
  ];
  const often = suppress(toCandidates(rows), { overlap: 0.5, limit: 10, isFoundOften: true });
  assert.deepEqual(toRows(often), [
    [20, 0, 30, 10, 0.438, 0],
    [0, 0, 10, 10, 0.375, 0],
  ]);
});

test("adds a candidate to the group it overlaps most", () => {
  const rows: readonly Row[] = [
    [0, 0, 100, 10, 0.5, 0],
    [60, 0, 160, 10, 0.5, 0],
    [50, 0, 150, 10, 0.5, 0],
  ];
  assert.deepEqual(suppressed(rows, 0.3), [rows[0], [55, 0, 155, 10, 0.5, 0]]);
});

test("keeps the best box of a group without any score", () => {
  const rows: readonly Row[] = [
    [0, 0, 10, 10, 0, 0],
    [1, 0, 11, 10, 0, 0],
  ];
  assert.deepEqual(suppressed(rows), [rows[0]]);
});

test("keeps both boxes if their overlap equals the limit", () => {
  // 10×10 boxes shifted by 5 share 50 of 150.
  const rows: readonly Row[] = [
    [0, 0, 10, 10, 0.5, 0],
    [5, 0, 15, 10, 0.25, 0],
  ];
  assert.equal(suppressed(rows, 1 / 3).length, 2);
  assert.equal(suppressed(rows, 0.33).length, 1);
});

test("does not suppress across classes", () => {
  const rows: readonly Row[] = [
    [0, 0, 10, 10, 0.5, 0],
    [0, 0, 10, 10, 0.25, 1],
  ];
  assert.deepEqual(suppressed(rows), rows);
});

test("suppressed candidates do not suppress others", () => {
  const rows: readonly Row[] = [
    [0, 0, 10, 10, 0.75, 0],
    [3, 0, 13, 10, 0.5, 0],
    [6, 0, 16, 10, 0.25, 0],
  ];
  assert.deepEqual(suppressed(rows, 0.4), [[1.2, 0, 11.2, 10, 0.75, 0], rows[2]]);
});

test("keeps the earlier of two equal scores, and orders it first", () => {
  const rows: readonly Row[] = [
    [50, 0, 60, 10, 0.5, 2],
    [0, 0, 10, 10, 0.5, 1],
    [1, 0, 11, 10, 0.5, 1],
  ];
  assert.deepEqual(suppressed(rows), [rows[0], [0.5, 0, 10.5, 10, 0.5, 1]]);
});

test("returns the best candidates up to the limit", () => {
  const rows = Array.from({ length: 10 }, (_, i): Row => [20 * i, 0, 20 * i + 10, 10, i / 10, 0]);
  assert.deepEqual(suppressed(rows, 0.5, 3), [rows[9], rows[8], rows[7]]);
  assert.deepEqual(suppressed([], 0.5, 3), []);
});

const box = fc.tuple(fc.nat(40), fc.nat(40), fc.integer({ min: 1, max: 20 }), fc.integer({ min: 1, max: 20 }));
const row = fc.tuple(box, fc.nat(20), fc.nat(2)).map(([[x, y, w, h], s, c]): Row => [x, y, x + w, y + h, s / 32, c]);

function unite(group: readonly Row[]): readonly number[] {
  const [best] = group as [Row];
  const weight = group.reduce((sum, one) => sum + one[4], 0);
  if (weight === 0) return best;
  const mean = (edge: 0 | 1 | 2 | 3) => group.reduce((sum, one) => sum + one[4] * one[edge], 0) / weight;
  return [mean(0), mean(1), mean(2), mean(3), best[4], best[5]];
}

function expectNear(actual: readonly number[], expected: readonly number[]): void {
  assert.equal(actual.length, expected.length);
  for (const [i, value] of expected.entries())
    assert.ok(Math.abs(value - (actual[i] ?? Number.NaN)) < 0.002, `${actual.join(", ")} for ${expected.join(", ")}`);
}

test("gives the same result as comparing every pair", () => {
  const overlap = (a: Row, b: Row): number => {
    const width = Math.min(a[2], b[2]) - Math.max(a[0], b[0]);
    const height = Math.min(a[3], b[3]) - Math.max(a[1], b[1]);
    const shared = width > 0 && height > 0 ? width * height : 0;
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared);
  };
  fc.assert(
    fc.property(fc.array(row, { maxLength: 40 }), (rows) => {
      const groups: Row[][] = [];
      for (const one of rows.toSorted((a, b) => b[4] - a[4])) {
        const shares = groups.map(([best]) => (best && best[5] === one[5] ? overlap(one, best) : 0));
        const most = Math.max(0.45, ...shares);
        // Of equal overlaps, the latest group wins.
        const group = most > 0.45 ? groups[shares.lastIndexOf(most)] : undefined;
        if (group) group.push(one);
        else groups.push([one]);
      }
      const found = suppressed(rows, 0.45);
      assert.equal(found.length, groups.length);
      for (const [i, group] of groups.entries()) expectNear(found[i] ?? [], unite(group));
    }),
  );
});
