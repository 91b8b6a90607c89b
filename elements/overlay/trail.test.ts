import assert from "node:assert/strict";
import { test } from "node:test";
import { Trail } from "./trail.ts";

const FRAME = { width: 100, height: 100 };

/** Walks right by a hundredth of the frame every 40 ms; returns the trace after each step. */
function walk(steps: number, lengthMs: number, trail = new Trail(), fromMs = 0) {
  return Array.from({ length: steps }, (_, i) => {
    trail.add(fromMs + i * 40, i / 100, 0.5, lengthMs);
    return trail.trace(FRAME, [i, 50], 2, 0);
  });
}

test("a trail leads from the position at its start time to the current one", () => {
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

test("the number of points is bounded for any length", () => {
  for (const lengthMs of [100, 1000, 60_000])
    for (const trace of walk(2000, lengthMs)) assert.ok((trace?.length ?? 0) <= 2 * 19);
});

test("an object that stands still has no trail", () => {
  const trail = new Trail();
  for (let i = 0; i < 50; i += 1) {
    trail.add(i * 40, 0.5 + (i % 2) * 0.005, 0.5, 1000);
    assert.equal(trail.trace(FRAME, [50, 50], 2, 0), null);
  }
});

test("jittering boxes give a smooth line", () => {
  const trail = new Trail();
  for (let i = 0; i < 200; i += 1) trail.add(i * 10, 0.2 + i * 0.002, 0.5 + (i % 2) * 0.02, 2000);
  const trace = trail.trace(FRAME, [60, 51], 2, 0);
  const heights = [...(trace ?? [])].filter((_, i) => i % 2 === 1);
  assert.ok(heights.length >= 2);
  for (const y of heights) assert.ok(Math.abs(y - 51) <= 0.2, `${y}`);
});

test("a pause longer than the trail, a new length or a clock set back restarts it", () => {
  for (const [laterMs, lengthMs] of [
    [60_000, 1000],
    [1640, 9000],
    [-60_000, 1000],
  ] as const) {
    const trail = new Trail();
    walk(40, 1000, trail);
    trail.add(laterMs, 0.9, 0.9, lengthMs);
    assert.equal(trail.trace(FRAME, [90, 90], 2, 0), null, `${laterMs}`);
  }
});

/** Moves along a circle of 40 pixels, a tenth of it every second stop. */
function circle(tolerance: number): readonly (readonly [number, number])[] {
  const trail = new Trail();
  for (let i = 0; i <= 16; i += 1) trail.add(i * 100, 0.5 + 0.4 * Math.cos(i / 6), 0.5 + 0.4 * Math.sin(i / 6), 1600);
  const trace = trail.trace(FRAME, [50 + 40 * Math.cos(16 / 6), 50 + 40 * Math.sin(16 / 6)], 2, tolerance) ?? [];
  return Array.from({ length: trace.length / 2 }, (_, i) => [trace[2 * i] ?? 0, trace[2 * i + 1] ?? 0] as const);
}

test("a straight path needs two points, a curved one as many as keep it within the tolerance", () => {
  const trail = new Trail();
  for (let i = 0; i <= 16; i += 1) trail.add(i * 100, 0.1 + i * 0.05, 0.2 + i * 0.02, 1600);
  assert.equal(trail.trace(FRAME, [90, 52], 2, 0.5)?.length, 4);
  const [full, few] = [circle(0), circle(1)];
  assert.ok(few.length > 2 && few.length <= full.length * 0.6, `${few.length} of ${full.length}`);
  assert.deepEqual([few[0], few.at(-1)], [full[0], full.at(-1)]);
  for (const [x, y] of full) {
    const distances = few.slice(1).map((end, i) => distanceTo([x, y], few[i] ?? end, end));
    assert.ok(Math.min(...distances) <= 1, `${x}, ${y}`);
  }
});

test("a path that reverses keeps its turning point", () => {
  const trail = new Trail();
  for (let i = 0; i <= 16; i += 1) trail.add(i * 100, 0.1 + 0.05 * Math.min(i, 16 - i), 0.5, 1600);
  const trace = trail.trace(FRAME, [10, 50], 2, 1) ?? [];
  assert.ok(Math.max(...trace) >= 49, [...trace].join());
});

function distanceTo([x, y]: readonly [number, number], a: readonly [number, number], b: readonly [number, number]) {
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]];
  const t = Math.min(Math.max(((x - a[0]) * dx + (y - a[1]) * dy) / (dx * dx + dy * dy || 1), 0), 1);
  return Math.hypot(x - a[0] - t * dx, y - a[1] - t * dy);
}
