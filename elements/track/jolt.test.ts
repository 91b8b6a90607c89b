import assert from "node:assert/strict";
import { test } from "node:test";
import { findJolt } from "./jolt.ts";
import type { TrackBox } from "./mot-tracker.ts";

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
