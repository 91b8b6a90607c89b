import assert from "node:assert/strict";
import test from "node:test";
import fc from "fast-check";
import type { Candidates } from "../../models/decode/decoder.ts";
import { describeNothing, describeObjects, placeCandidates } from "./objects.ts";
import { type DetectionFilter, WHOLE } from "./request.ts";

const SIZE = { width: 200, height: 100 };
const FILTER: DetectionFilter = { confidence: 0.5, weak: 0.2, overlap: 0.5, minimum: 0.2, classIds: null };
const LABELS = ["person", "car"];

const candidates = (...list: readonly { box: readonly number[]; score: number; classId: number }[]): Candidates => ({
  count: list.length,
  boxes: Float32Array.from(list.flatMap(({ box }) => box)),
  scores: Float32Array.from(list, ({ score }) => score),
  classIds: Int32Array.from(list, ({ classId }) => classId),
});
const describe = (found: Candidates, filter = FILTER, within = WHOLE) =>
  describeObjects({ ...found, inferred: 1 }, SIZE, { regions: [within], within, filter }, "test", LABELS);
const BOX = [20, 10, 120, 60];

test("maps boxes from the tensor back to the frame", () => {
  const geometry = { scaleX: 0.5, scaleY: 0.25, offsetX: 10, offsetY: 4, originX: 40, originY: 8 };
  const placed = placeCandidates(candidates({ box: [10, 4, 30, 9], score: 1, classId: 0 }), geometry);
  assert.deepEqual([...placed.boxes], [40, 8, 80, 28]);
});

test("splits detections by confidence into objects and weak ones, and drops the rest", () => {
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

test("reports only selected classes, by name", () => {
  const found = candidates({ box: BOX, score: 0.9, classId: 0 }, { box: BOX, score: 0.8, classId: 1 });
  const { objects } = describe(found, { ...FILTER, classIds: new Set([1]) });
  assert.deepEqual(
    objects.map(({ className, classId }) => [className, classId]),
    [["car", 1]],
  );
});

test("drops a class without a label", () => {
  assert.deepEqual(describe(candidates({ box: BOX, score: 0.9, classId: 7 })).objects, []);
});

test("boxes lie within the frame and have an area, for any network output", () => {
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

test("clips boxes to the analysed region", () => {
  const region = { x: 0.25, y: 0.25, width: 0.5, height: 0.5 };
  const boxes = [
    [20, 10, 120, 60],
    [60, 40, 80, 60],
    [160, 10, 190, 90],
  ].map((box) => ({ box, score: 0.9, classId: 0 }));
  const { objects } = describe(candidates(...boxes), FILTER, region);
  assert.deepEqual(
    objects.map(({ box }) => box.map((value) => Math.round(value * 100))),
    [
      [25, 25, 35, 35],
      [30, 40, 10, 20],
    ],
  );
});

test("drops boxes outside the frame or with negative size", () => {
  const boxes = [
    [300, 10, 400, 60],
    [120, 10, 20, 60],
    [20, 10, 20, 60],
    [Number.NaN, 10, 20, 60],
  ];
  const { objects } = describe(candidates(...boxes.map((box) => ({ box, score: 0.9, classId: 0 }))));
  assert.deepEqual(objects, []);
});

test("marks a frame without inference", () => {
  assert.deepEqual(describeNothing(FILTER, "test"), {
    inferred: false,
    model: "test",
    confidence: 0.5,
    objects: [],
    weak: [],
  });
});
