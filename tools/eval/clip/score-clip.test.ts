import assert from "node:assert/strict";
import { test } from "node:test";
import type { Detection, Track } from "../../../schemas/detections.ts";
import { frame, square } from "../metrics/compare.fixture.ts";
import type { WatchedFrame } from "./run-clip.ts";
import { scoreClip } from "./score-clip.ts";

const SIZE = { width: 1000, height: 100 };

/** A square in fractions of the frame. */
const seen = (place: number, confidence: number, className = "person"): Detection => {
  const [left, top, width, height] = square(place);
  const box: Detection["box"] = [left / 1000, top / 100, width / 1000, height / 100];
  return { classId: 0, className, confidence, box };
};
const tracked = (id: number, place: number, className = "person"): Track => ({
  ...seen(place, 0.9, className),
  id,
  predicted: false,
  ageMs: 0,
  velocity: [0, 0],
});
const watched = (detections: Detection[], tracks: Track[]): WatchedFrame => ({ ...SIZE, detections, tracks });

const two = [frame({ 1: square(0) }), frame({ 1: square(0) })];

test("what is found where it is has the full score", () => {
  const { ap50, tracking } = scoreClip("clip", two, Array(2).fill(watched([seen(0, 0.9)], [tracked(4, 0)])), "person");
  assert.equal(ap50, 1);
  assert.deepEqual([tracking.hota, tracking.mota, tracking.idf1], [1, 1, 1]);
});

test("a wrong detection costs precision by how sure it was", () => {
  // Sure and wrong before both right ones: the best precision at any recall is 2 of 3. After them it costs nothing.
  const score = (confidence: number): number => {
    const frames = [watched([seen(0, 0.5)], []), watched([seen(0, 0.5), seen(3, confidence)], [])];
    return scoreClip("clip", two, frames, "person").ap50;
  };
  assert.ok(Math.abs(score(0.9) - 2 / 3) < 1e-12);
  assert.equal(score(0.02), 1);
});

test("what is marked as not to be scored may be found or not", () => {
  const frames = Array(2).fill(watched([seen(0, 0.5), seen(3, 0.9)], []));
  assert.ok(scoreClip("clip", two, frames, "person").ap50 < 1);
  const marked = Array(2).fill(frame({ 8: square(3) }));
  assert.equal(scoreClip("clip", two, frames, "person", marked).ap50, 1);
  assert.equal(scoreClip("clip", two, Array(2).fill(watched([seen(0, 0.5)], [])), "person", marked).ap50, 1);
});

test("other classes are not scored", () => {
  const frames = Array(2).fill(watched([seen(0, 0.9), seen(5, 0.9, "car")], [tracked(4, 0), tracked(5, 5, "car")]));
  const { ap50, tracking } = scoreClip("clip", two, frames, "person");
  assert.deepEqual([ap50, tracking.surplus], [1, 0]);
});

test("what the clip lacks is missed, and what it has beyond the ground truth is surplus", () => {
  const one = watched([seen(0, 0.9)], [tracked(4, 0)]);
  assert.equal(scoreClip("clip", two, [one], "person").tracking.missed, 1);
  assert.equal(scoreClip("clip", two, [one, one, one], "person").tracking.surplus, 1);
});

test("nothing to be found gives zeros", () => {
  const { ap50, tracking } = scoreClip("clip", [], [watched([], [])], "person");
  assert.deepEqual([ap50, tracking.hota], [0, 0]);
});
