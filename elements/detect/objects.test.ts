import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { Candidates } from "../../models/decode/decoder.ts";
import { describeNothing, describeObjects, placeCandidates } from "./objects.ts";
import { type Wanted, WHOLE } from "./request.ts";

const SIZE = { width: 200, height: 100 };
const WANTED: Wanted = { confidence: 0.5, weak: 0.2, overlap: 0.5, minimum: 0.2, classIds: null };
const LABELS = ["person", "car"];

const candidates = (...list: readonly { box: readonly number[]; score: number; classId: number }[]): Candidates => ({
  count: list.length,
  boxes: Float32Array.from(list.flatMap(({ box }) => box)),
  scores: Float32Array.from(list, ({ score }) => score),
  classIds: Int32Array.from(list, ({ classId }) => classId),
});
const describe = (found: Candidates, wanted = WANTED, region = WHOLE) =>
  describeObjects(found, SIZE, region, wanted, "test", LABELS);
const BOX = [20, 10, 120, 60];

test("boxes come back to the frame the way the tensor was made", () => {
  const geometry = { scaleX: 0.5, scaleY: 0.25, offsetX: 10, offsetY: 4, originX: 40, originY: 8 };
  const placed = placeCandidates(candidates({ box: [10, 4, 30, 9], score: 1, classId: 0 }), geometry);
  assert.deepEqual([...placed.boxes], [40, 8, 80, 28]);
});

test("what is sure enough is seen, what is less sure is weak, the rest is nothing", () => {
  const scores = [0.25, 0.9, 0.5, 0.1];
  const { objects, weak, inferred } = describe(candidates(...scores.map((score) => ({ box: BOX, score, classId: 0 }))));
  assert.equal(inferred, true);
  assert.deepEqual(
    objects.map(({ confidence }) => Math.round(confidence * 100)),
    [90, 50],
  );
  assert.deepEqual(
    weak.map(({ confidence }) => confidence),
    [0.25],
  );
  assert.deepEqual(
    objects[0]?.box.map((value) => Math.round(value * 100)),
    [10, 10, 50, 50],
  );
});

test("only classes that are wanted are told, by their names", () => {
  const found = candidates({ box: BOX, score: 0.9, classId: 0 }, { box: BOX, score: 0.8, classId: 1 });
  const { objects } = describe(found, { ...WANTED, classIds: new Set([1]) });
  assert.deepEqual(
    objects.map(({ className, classId }) => [className, classId]),
    [["car", 1]],
  );
});

test("a class without a label is left out", () => {
  assert.deepEqual(describe(candidates({ box: BOX, score: 0.9, classId: 7 })).objects, []);
});

test("boxes lie within the frame and have an area, whatever the network says", () => {
  const wild = fc.float({ min: -400, max: 400 });
  fc.assert(
    fc.property(fc.array(fc.tuple(wild, wild, wild, wild), { maxLength: 20 }), (boxes) => {
      const { objects } = describe(candidates(...boxes.map((box) => ({ box, score: 0.9, classId: 0 }))));
      for (const {
        box: [x, y, width, height],
      } of objects) {
        assert.ok(x >= 0 && y >= 0 && width > 0 && height > 0);
        assert.ok(x + width <= 1 + 1e-12 && y + height <= 1 + 1e-12);
      }
    }),
  );
});

test("a box ends where the region ends that was looked at", () => {
  const region = { x: 0.25, y: 0.25, width: 0.5, height: 0.5 };
  const boxes = [
    [20, 10, 120, 60],
    [60, 40, 80, 60],
    [160, 10, 190, 90],
  ].map((box) => ({ box, score: 0.9, classId: 0 }));
  const { objects } = describe(candidates(...boxes), WANTED, region);
  assert.deepEqual(
    objects.map(({ box }) => box.map((value) => Math.round(value * 100))),
    [
      [25, 25, 35, 35],
      [30, 40, 10, 20],
    ],
  );
});

test("a box outside of the frame or turned inside out is dropped", () => {
  const boxes = [
    [300, 10, 400, 60],
    [120, 10, 20, 60],
    [20, 10, 20, 60],
    [Number.NaN, 10, 20, 60],
  ];
  const { objects } = describe(candidates(...boxes.map((box) => ({ box, score: 0.9, classId: 0 }))));
  assert.deepEqual(objects, []);
});

test("a frame that was not looked at says so", () => {
  assert.deepEqual(describeNothing(WANTED, "test"), {
    inferred: false,
    model: "test",
    confidence: 0.5,
    objects: [],
    weak: [],
  });
});
