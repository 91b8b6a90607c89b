import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateCommonMiss, findJolt } from "./camera-follower.ts";
import type { TrackBox } from "./mot-tracker.ts";

const misses = (offsets: readonly number[]) => offsets.map((offset) => ({ offset, variance: 0.01 }));

test("attributes the common motion to the camera", () => {
  const found = estimateCommonMiss(misses([1.02, 0.97, 1, 1.04, 0.98]), 10);
  assert.ok(Math.abs(found - 1) < 0.05, String(found));
});

test("an outlier changes little", () => {
  const found = estimateCommonMiss(misses([1, 1, 1, 1, 4]), 10);
  assert.ok(Math.abs(found - 1) < 0.1, String(found));
});

test("two objects are not enough", () => {
  assert.equal(estimateCommonMiss(misses([1, 1]), 10), 0);
});

test("regularises towards no motion for a steady camera", () => {
  const found = estimateCommonMiss(misses([0.1, 0.1, 0.1]), 0.01);
  assert.ok(found > 0 && found < 0.02, String(found));
});

const people: readonly TrackBox[] = [
  [100, 100, 40, 100],
  [230, 120, 45, 110],
  [400, 90, 38, 95],
  [520, 140, 50, 120],
];
const shift = (boxes: readonly TrackBox[], right: number, down: number): readonly TrackBox[] =>
  boxes.map(([x, y, width, height]) => [x + right, y + down, width, height]);

test("finds the shift that brings all objects to a sighting", () => {
  const jolt = findJolt(people, shift(people, 70, -30));
  assert.deepEqual([jolt?.right, jolt?.down], [70, -30]);
});

test("finds the shift with one missing and one new object", () => {
  const jolt = findJolt(people, [...shift(people.slice(1), 70, -30), [20, 300, 40, 100]]);
  assert.deepEqual([jolt?.right, jolt?.down], [70, -30]);
});

test("finds no jolt of a still camera", () => {
  assert.equal(findJolt(people, people), null);
});

test("finds no jolt if objects move independently", () => {
  const [a, b, c, d] = people as [TrackBox, TrackBox, TrackBox, TrackBox];
  const apart = [...shift([a], 60, 0), ...shift([b], -60, 0), ...shift([c], 0, 60), ...shift([d], 0, -60)];
  assert.equal(findJolt(people, apart), null);
});
