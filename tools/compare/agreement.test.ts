import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { alignFrames, compareRuns } from "./agreement.ts";
import { frameAt, runOf, track } from "./run.fixture.ts";

const near = (value: number, expected: number) => assert.ok(Math.abs(value - expected) < 1e-9, `${value}`);

test("two equal runs agree in everything", () => {
  const run = runOf([track(1, 0.1), track(2, 0.6, "car")], [track(1, 0.12), track(2, 0.62, "car")]);
  const { classes, ...scores } = compareRuns(run, run);
  assert.deepEqual(scores, { recall: 1, precision: 1, agreement: 1, ap: 1, hota: 1, idf1: 1, switches: 0 });
  const tracks = { reference: 1, other: 1, matched: 1 };
  assert.deepEqual(classes, [
    { name: "car", tracks },
    { name: "person", tracks },
  ]);
});

test("runs without objects agree", () => {
  const { recall, precision, agreement, ap } = compareRuns(runOf([], []), runOf([], []));
  assert.deepEqual([recall, precision, agreement, ap], [1, 1, 1, 1]);
});

test("a missed box costs recall, a box too many precision", () => {
  const reference = runOf([track(1, 0.1), track(2, 0.6)], [track(1, 0.1), track(2, 0.6)]);
  const fewer = compareRuns(reference, runOf([track(1, 0.1)], [track(1, 0.1), track(2, 0.6)]));
  near(fewer.recall, 3 / 4);
  near(fewer.precision, 1);
  near(fewer.agreement, 6 / 7);
  const more = compareRuns(
    reference,
    runOf([track(1, 0.1), track(2, 0.6), track(3, 0.3)], [track(1, 0.1), track(2, 0.6)]),
  );
  near(more.recall, 1);
  near(more.precision, 4 / 5);
});

test("the same box with another class is another object", () => {
  const { recall, precision, classes } = compareRuns(runOf([track(1, 0.1, "car")]), runOf([track(1, 0.1, "truck")]));
  assert.deepEqual([recall, precision], [0, 0]);
  assert.deepEqual(
    classes.map(({ name, tracks }) => [name, tracks.reference, tracks.other, tracks.matched]),
    [
      ["car", 1, 0, 0],
      ["truck", 0, 1, 0],
    ],
  );
});

test("another id for the same object is a switch, and not a matched track if it is too short", () => {
  const reference = runOf([track(1, 0.1)], [track(1, 0.1)], [track(1, 0.1)]);
  const switched = compareRuns(reference, runOf([track(5, 0.1)], [track(6, 0.1)], [track(7, 0.1)]));
  assert.deepEqual([switched.agreement, switched.switches], [1, 2]);
  assert.deepEqual(switched.classes[0]?.tracks, { reference: 1, other: 3, matched: 0 });
  const kept = compareRuns(reference, runOf([track(5, 0.1)], [track(5, 0.1)], [track(6, 0.1)]));
  assert.deepEqual([kept.switches, kept.classes[0]?.tracks.matched], [1, 1]);
});

test("frames are compared by their time: a frame that one run lacks is missed", () => {
  const all = runOf([track(1, 0.1)], [track(1, 0.1)], [track(1, 0.1)]);
  const some = { ...all, frames: all.frames.filter((_, index) => index !== 1) };
  near(compareRuns(all, some).recall, 2 / 3);
  near(compareRuns(some, all).precision, 2 / 3);
  const [a, b] = alignFrames([frameAt(2, [])], [frameAt(0, []), frameAt(2, [])]);
  assert.deepEqual(
    [a, b].map((frames) => frames.map((frame) => frame !== null)),
    [
      [false, true],
      [true, true],
    ],
  );
});

test("recall of one is precision of the other, and agreement is the same both ways", () => {
  const one = fc.tuple(fc.integer({ min: 1, max: 4 }), fc.double({ min: 0, max: 0.9, noNaN: true }));
  const run = fc
    .uniqueArray(one, { maxLength: 4, selector: ([id]) => id })
    .map((tracks) => runOf(tracks.map(([id, left]) => track(id, left))));
  fc.assert(
    fc.property(run, run, (a, b) => {
      const [there, back] = [compareRuns(a, b), compareRuns(b, a)];
      assert.deepEqual([there.recall, there.precision], [back.precision, back.recall]);
      assert.equal(there.agreement, back.agreement);
    }),
  );
});
