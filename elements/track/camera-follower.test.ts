import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateCommonMiss, findJolt } from "./camera-follower.ts";
import type { TrackBox } from "./mot-tracker.ts";

const misses = (offsets: readonly number[]) => offsets.map((offset) => ({ offset, variance: 0.01 }));

test("what all have in common is the camera's", () => {
  const found = estimateCommonMiss(misses([1.02, 0.97, 1, 1.04, 0.98]), 10);
  assert.ok(Math.abs(found - 1) < 0.05, String(found));
});

test("one of its own mind changes little", () => {
  const found = estimateCommonMiss(misses([1, 1, 1, 1, 4]), 10);
  assert.ok(Math.abs(found - 1) < 0.1, String(found));
});

test("two objects say nothing about the camera", () => {
  assert.equal(estimateCommonMiss(misses([1, 1]), 10), 0);
});

test("where cameras hardly move, little is believed", () => {
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

test("finds the shift that brings all to a sighting", () => {
  const jolt = findJolt(people, shift(people, 70, -30));
  assert.deepEqual([jolt?.right, jolt?.down], [70, -30]);
});

test("finds it with one object gone and another new", () => {
  const jolt = findJolt(people, [...shift(people.slice(1), 70, -30), [20, 300, 40, 100]]);
  assert.deepEqual([jolt?.right, jolt?.down], [70, -30]);
});

test("a camera that stands still was not knocked", () => {
  assert.equal(findJolt(people, people), null);
});

test("objects that go their own ways are not a camera that was knocked", () => {
  const [a, b, c, d] = people as [TrackBox, TrackBox, TrackBox, TrackBox];
  const apart = [...shift([a], 60, 0), ...shift([b], -60, 0), ...shift([c], 0, 60), ...shift([d], 0, -60)];
  assert.equal(findJolt(people, apart), null);
});
