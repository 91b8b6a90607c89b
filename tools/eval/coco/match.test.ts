import assert from "node:assert/strict";
import { test } from "node:test";
import type { PixelBox, TrueObject } from "./dataset.ts";
import { type AreaRange, matchPicture, OVERLAPS, overlapOf } from "./match.ts";

const ALL: AreaRange = { from: 0, to: 1e10 };

const object = (box: PixelBox, more: Partial<TrueObject> = {}): TrueObject => ({
  ...{ className: "x", box, area: box[2] * box[3], isCrowd: false },
  ...more,
});

/** A 10×10 box that shares this much with `[0, 0, 10, 10]`: moved right by d they share (10 - d) / (10 + d). */
const sharing = (overlap: number): PixelBox => [(10 * (1 - overlap)) / (1 + overlap), 0, 10, 10];
const HERE: PixelBox = [0, 0, 10, 10];

/** Outcomes at the overlaps 0.5, 0.75 and 0.95. */
const outcomesOf = (truth: readonly TrueObject[], found: readonly [PixelBox, number][], range = ALL) =>
  matchPicture(
    truth,
    found.map(([box, score]) => ({ box, score })),
    range,
  ).judged.map(({ outcomes }) => [0.5, 0.75, 0.95].map((overlap) => outcomes[OVERLAPS.indexOf(overlap)]));

test("an overlap is shared area over joint area, and over the detection alone for a crowd", () => {
  assert.equal(overlapOf([0, 0, 10, 10], { box: [5, 0, 10, 10], isCrowd: false }), 50 / 150);
  assert.equal(overlapOf([0, 0, 10, 10], { box: [5, 0, 100, 100], isCrowd: true }), 0.5);
  assert.equal(overlapOf([0, 0, 10, 10], { box: [10, 0, 10, 10], isCrowd: false }), 0);
});

test("a detection is right as long as it overlaps enough", () => {
  assert.deepEqual(outcomesOf([object(HERE)], [[sharing(0.8), 0.9]]), [[1, 1, 0]]);
});

test("an overlap of exactly the limit is enough", () => {
  // 10×10 within 10×20: half of it.
  assert.deepEqual(outcomesOf([object([0, 0, 10, 20])], [[HERE, 0.9]]), [[1, 0, 0]]);
});

test("the surer of two detections of an object is right, though it overlaps less", () => {
  const found: [PixelBox, number][] = [
    [HERE, 0.5],
    [sharing(0.6), 0.9],
  ];
  assert.deepEqual(outcomesOf([object(HERE)], found), [
    [1, 0, 0],
    [0, 1, 1],
  ]);
});

test("a detection takes the object that it overlaps most", () => {
  const truth = [object(sharing(0.6)), object(HERE)];
  assert.deepEqual(
    outcomesOf(truth, [
      [HERE, 0.9],
      [sharing(0.6), 0.8],
    ]),
    [
      [1, 1, 1],
      [1, 1, 1],
    ],
  );
});

test("what lies in a crowd counts neither way, any number of times", () => {
  const crowd = object([0, 0, 100, 100], { isCrowd: true });
  const found: [PixelBox, number][] = [
    [[10, 10, 5, 5], 0.9],
    [[20, 20, 5, 5], 0.8],
    [[200, 0, 5, 5], 0.7],
  ];
  assert.deepEqual(outcomesOf([crowd], found), [
    [-1, -1, -1],
    [-1, -1, -1],
    [0, 0, 0],
  ]);
});

test("an object goes before a crowd that covers the detection better", () => {
  const truth = [object([-50, -50, 200, 200], { isCrowd: true }), object(sharing(0.6))];
  assert.deepEqual(outcomesOf(truth, [[HERE, 0.9]]), [[1, -1, -1]]);
  assert.equal(matchPicture(truth, [], ALL).objects, 1);
});

test("objects and detections of another size count neither way", () => {
  const small: AreaRange = { from: 0, to: 64 };
  const truth = [object(HERE), object([50, 0, 8, 8])];
  const found: [PixelBox, number][] = [
    [HERE, 0.9],
    [[50, 0, 8, 8], 0.8],
    [[200, 0, 30, 30], 0.7],
    [[300, 0, 4, 4], 0.6],
  ];
  assert.deepEqual(
    outcomesOf(truth, found, small).map(([at50]) => at50),
    [-1, 1, -1, 0],
  );
  assert.equal(matchPicture(truth, [], small).objects, 1);
});

test("the size of an object is its own area, not that of its box", () => {
  const small: AreaRange = { from: 0, to: 64 };
  assert.equal(matchPicture([object(HERE, { area: 60 })], [], small).objects, 1);
});

test("only the hundred surest detections of a picture count", () => {
  const found = Array.from({ length: 150 }, (_, i): [PixelBox, number] => [[i * 20, 0, 10, 10], i / 150]);
  assert.equal(outcomesOf([object(HERE)], found).length, 100);
  assert.ok(outcomesOf([object(HERE)], found).every(([at50]) => at50 === 0));
});
