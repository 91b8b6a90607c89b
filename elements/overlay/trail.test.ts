import assert from "node:assert/strict";
import { test } from "node:test";
import { Trail } from "./trail.ts";

const FRAME = { width: 100, height: 100 };

/** Walks right, a hundredth of the frame a frame of 40 ms, and gives the traces after each step. */
function walk(steps: number, lengthMs: number, trail = new Trail(), fromMs = 0) {
  return Array.from({ length: steps }, (_, i) => {
    trail.add(fromMs + i * 40, i / 100, 0.5, lengthMs);
    return trail.trace(FRAME, [i, 50], 2);
  });
}

test("a trail leads from where the object was that long ago to where it is", () => {
  const last = walk(90, 1000).at(-1);
  assert.ok(last);
  assert.ok(Math.abs((last[0] ?? 0) - 64) <= 2, `begins at ${last[0]}`);
  assert.deepEqual([last.at(-2), last.at(-1)], [89, 50]);
  const xs = last.filter((_, i) => i % 2 === 0);
  assert.deepEqual(
    [...xs],
    [...xs].sort((a, b) => a - b),
  );
});

test("its length in points is bounded, however long it is", () => {
  for (const lengthMs of [100, 1000, 60_000])
    for (const trace of walk(2000, lengthMs)) assert.ok((trace?.length ?? 0) <= 2 * 19);
});

test("an object that stands still has none", () => {
  const trail = new Trail();
  for (let i = 0; i < 50; i += 1) {
    trail.add(i * 40, 0.5 + (i % 2) * 0.005, 0.5, 1000);
    assert.equal(trail.trace(FRAME, [50, 50], 2), null);
  }
});

test("boxes that tremble make a line that does not", () => {
  const trail = new Trail();
  for (let i = 0; i < 200; i += 1) trail.add(i * 10, 0.2 + i * 0.002, 0.5 + (i % 2) * 0.02, 2000);
  const trace = trail.trace(FRAME, [60, 51], 2);
  const heights = [...(trace ?? [])].filter((_, i) => i % 2 === 1);
  assert.ok(heights.length > 12);
  for (const y of heights) assert.ok(Math.abs(y - 51) <= 0.2, `${y}`);
});

test("a pause longer than the trail, another length or a clock set back begins it anew", () => {
  for (const [laterMs, lengthMs] of [
    [60_000, 1000],
    [1640, 9000],
    [-60_000, 1000],
  ] as const) {
    const trail = new Trail();
    walk(40, 1000, trail);
    trail.add(laterMs, 0.9, 0.9, lengthMs);
    assert.equal(trail.trace(FRAME, [90, 90], 2), null, `${laterMs}`);
  }
});
