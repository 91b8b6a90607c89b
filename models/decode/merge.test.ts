import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Candidates } from "./decoder.ts";
import { mergeTiles, type Tile } from "./merge.ts";

type Row = readonly [left: number, top: number, right: number, bottom: number, score: number, classId?: number];

const FRAME = { width: 1000, height: 600 };

function toCandidates(rows: readonly Row[]): Candidates {
  return {
    count: rows.length,
    boxes: Float32Array.from(rows.flatMap((row) => row.slice(0, 4) as number[])),
    scores: Float32Array.from(rows.map((row) => row[4])),
    classIds: Int32Array.from(rows.map((row) => row[5] ?? 0)),
  };
}

const tile = (left: number, top: number, right: number, bottom: number, ...rows: readonly Row[]): Tile => ({
  ...{ left, top, right, bottom },
  candidates: toCandidates(rows),
});

function merge(tiles: readonly Tile[], limit = 100): readonly (readonly number[])[] {
  const { count, boxes, scores, classIds } = mergeTiles(tiles, FRAME, 0.6, limit);
  const round = (value: number | undefined) => Math.round((value ?? Number.NaN) * 100) / 100;
  return Array.from({ length: count }, (_, i) => [
    ...Array.from(boxes.subarray(4 * i, 4 * i + 4), round),
    round(scores[i]),
    classIds[i] ?? -1,
  ]);
}

/** Two tiles side by side that overlap by 200 pixels. */
const pair = (a: readonly Row[], b: readonly Row[]): readonly Tile[] => [
  tile(0, 0, 600, 600, ...a),
  tile(400, 0, 1000, 600, ...b),
];

test("merges an object that is whole in two tiles and keeps the better score", () => {
  const merged = merge(pair([[450, 100, 500, 200, 0.6]], [[452, 101, 503, 199, 0.9]]));
  assert.deepEqual(merged, [[452, 101, 503, 199, 0.9, 0]]);
});

test("prefers the whole box to a part with a higher score", () => {
  const merged = merge(pair([[540, 100, 599, 200, 0.9]], [[540, 98, 700, 202, 0.7]]));
  assert.deepEqual(merged, [[540, 98, 700, 202, 0.7, 0]]);
});

test("keeps a part if the whole box has a very low score", () => {
  const merged = merge(pair([[540, 100, 599, 200, 0.9]], [[500, 50, 950, 400, 0.2]]));
  assert.equal(merged.length, 2);
});

test("joins the parts of an object that is longer than the overlap", () => {
  const merged = merge(pair([[100, 100, 599, 300, 0.8]], [[401, 104, 800, 298, 0.7]]));
  assert.deepEqual(merged, [[100, 100, 800, 300, 0.8, 0]]);
});

test("joins an object across three tiles", () => {
  const merged = merge([
    tile(0, 0, 400, 600, [200, 100, 399, 300, 0.5]),
    tile(300, 0, 700, 600, [301, 100, 699, 300, 0.6]),
    tile(600, 0, 1000, 600, [601, 100, 900, 300, 0.7]),
  ]);
  assert.deepEqual(merged, [[200, 100, 900, 300, 0.7, 0]]);
});

test("joins an object across the corner of four tiles", () => {
  const merged = merge([
    tile(0, 0, 600, 350, [200, 100, 599, 349, 0.9]),
    tile(400, 0, 1000, 350, [401, 101, 800, 348, 0.6]),
    tile(0, 250, 600, 600, [201, 251, 598, 500, 0.5]),
    tile(400, 250, 1000, 600, [402, 252, 802, 502, 0.8]),
  ]);
  assert.deepEqual(merged, [[200, 100, 802, 502, 0.9, 0]]);
});

test("keeps neighbouring objects that one tile shows separately", () => {
  const rows: readonly Row[] = [
    [450, 100, 520, 300, 0.9],
    [490, 100, 560, 300, 0.8],
  ];
  assert.equal(merge(pair(rows, rows)).length, 2);
});

test("keeps objects of other classes at the same position", () => {
  const merged = merge(pair([[450, 100, 500, 200, 0.6, 1]], [[450, 100, 500, 200, 0.9, 2]]));
  assert.equal(merged.length, 2);
});

test("treats a box at the edge of the frame as whole", () => {
  const merged = merge(pair([[0, 0, 80, 80, 0.9]], [[900, 500, 1000, 600, 0.8]]));
  assert.equal(merged.length, 2);
});

test("gives the result of suppression for a single tile, best first, up to the limit", () => {
  const whole = tile(
    0,
    0,
    1000,
    600,
    [0, 0, 9, 9, 0.3],
    [100, 0, 110, 9, 0.9],
    [101, 0, 111, 9, 0.8],
    [50, 0, 60, 9, 0.5],
  );
  assert.deepEqual(
    merge([whole]).map((row) => row[4]),
    [0.9, 0.5, 0.3],
  );
  assert.equal(merge([whole], 2).length, 2);
});

test("returns boxes that are whole in at least one tile exactly once", () => {
  const slot = fc.record({ column: fc.integer({ min: 0, max: 9 }), size: fc.integer({ min: 20, max: 90 }) });
  fc.assert(
    fc.property(fc.uniqueArray(slot, { selector: ({ column }) => column, maxLength: 10 }), (slots) => {
      const objects = slots.map(({ column, size }): Row => [column * 100 + 2, 10, column * 100 + 2 + size, 90, 0.9]);
      const see = (from: number, to: number): Row[] =>
        objects
          .map(([l, t, r, b, score]): Row => [Math.max(l, from), t, Math.min(r, to), b, score])
          .filter(([l, , r]) => r - l > 4);
      const tiles = [tile(0, 0, 560, 600, ...see(0, 560)), tile(440, 0, 1000, 600, ...see(440, 1000))];
      const found = merge(tiles).map((row) => row[0]);
      assert.deepEqual(found.sort(), objects.map((row) => row[0]).sort());
    }),
  );
});
