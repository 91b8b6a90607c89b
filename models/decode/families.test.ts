/** Every export format of every family, with boxes computed by hand. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Card, decode, floats, type Made, whole } from "./outputs.fixture.ts";

const logit = (p: number): number => Math.log(p / (1 - p));
/** A tensor of rows: those in `at`, the rest 0. */
const rows = (count: number, width: number, at: Readonly<Record<number, readonly number[]>>) => {
  const tensor = floats([1, count, width]);
  for (const [row, values] of Object.entries(at)) (tensor.data as Float32Array).set(values, Number(row) * width);
  return tensor;
};
/** Its softmax is nearly 1 in one bin. */
const bin = (chosen: number, bins = 8): readonly number[] =>
  Array.from({ length: bins }, (_, i) => (i === chosen ? 50 : 0));

interface Case {
  readonly behaviour: string;
  readonly card: Card;
  readonly made: Made;
  readonly expected: readonly (readonly number[])[];
}

// The input is 64×32: strides 8, 16, 32 have 8×4 + 4×2 + 2×1 = 42 cells, and a fourth level one more.
const CASES: readonly Case[] = [
  {
    behaviour: "efficientdet: lists in pixels, classes from 0",
    card: { decoder: { family: "efficientdet" }, labels: 3 },
    made: {
      boxes: floats([1, 3, 4], [1, 2, 30, 20, 5, 5, 10, 10, 0, 0, 9, 9]),
      scores: floats([1, 3], [0.75, 0.5, 0.05]),
      classes: whole([1, 3], [2, 0, 1]),
    },
    expected: [
      [1, 2, 30, 20, 0.75, 2],
      [5, 5, 10, 10, 0.5, 0],
    ],
  },
  {
    behaviour: "ssd: TensorFlow's names in any order, fractions, COCO category ids, padding beyond the count ignored",
    card: { decoder: { family: "ssd" }, labels: "coco" },
    made: {
      num_detections: floats([1], [2]),
      "detection_classes:0": floats([1, 3], [90, 1, 1]),
      raw_detection_boxes: floats([1, 9, 4]),
      "detection_scores:0": floats([1, 3], [0.5, 0.25, 0.9]),
      detection_multiclass_scores: floats([1, 3, 91]),
      "detection_boxes:0": floats([1, 3, 4], [0.25, 0.5, 0.75, 1, 0, 0, 0.5, 0.5, 0, 0, 1, 1]),
    },
    expected: [
      [32, 8, 64, 24, 0.5, 79],
      [0, 0, 32, 16, 0.25, 0],
    ],
  },
  {
    behaviour: "ssd: other labels start after the background",
    card: { decoder: { family: "ssd" }, labels: 2 },
    made: {
      detection_boxes: floats([1, 2, 4], [0, 0, 1, 1, 0, 0, 1, 1]),
      detection_scores: floats([1, 2], [0.5, 0.5]),
      detection_classes: floats([1, 2], [2, 0]),
    },
    expected: [[0, 0, 64, 32, 0.5, 1]],
  },
  {
    behaviour: "ssd: torchvision, without the batch and in pixels",
    card: { decoder: { family: "ssd" }, labels: 2 },
    made: {
      boxes: floats([2, 4], [1, 2, 11, 12, 3, 4, 13, 14]),
      labels: whole([2], [1, 2]),
      scores: floats([2], [0.5, 0.75]),
    },
    expected: [
      [1, 2, 11, 12, 0.5, 0],
      [3, 4, 13, 14, 0.75, 1],
    ],
  },
  {
    behaviour: "ssd: output names from the card",
    card: {
      decoder: {
        ...{ family: "ssd", boxes: "ltrb", units: "pixels", numbering: "labels" },
        outputs: { boxes: "a", scores: "c", classes: "b" },
      },
      labels: 2,
    },
    made: { a: floats([1, 1, 4], [1, 2, 11, 12]), b: floats([1, 1], [1]), c: floats([1, 1], [0.5]) },
    expected: [[1, 2, 11, 12, 0.5, 1]],
  },
  {
    behaviour: "ssd: scores of all classes, the background first",
    card: { decoder: { family: "ssd" }, labels: 2 },
    made: {
      scores: rows(3, 3, { 0: [0.9, 0.05, 0.05], 1: [0.1, 0.2, 0.7], 2: [0.3, 0.6, 0.1] }),
      boxes: rows(3, 4, { 1: [0.25, 0.25, 0.5, 0.5], 2: [0, 0, 0.5, 1] }),
    },
    expected: [
      [16, 8, 32, 16, 0.7, 1],
      [0, 0, 32, 32, 0.6, 0],
    ],
  },
  {
    behaviour: "yolox: offsets and logarithms on the grid of each stride",
    card: { decoder: { family: "yolox" }, labels: 2 },
    // Cell 9 is column 1, row 1 of stride 8; cell 33 is column 1, row 0 of stride 16; 41 column 1 of stride 32.
    made: {
      output: rows(42, 7, {
        9: [0.5, 0.5, 0, 0, 0.5, 0.5, 1],
        33: [0, 0.5, 0, Math.log(2), 1, 0.5, 0.25],
        41: [0.5, 0.5, 0, 0, 1, 0, 0.5],
        20: [0.5, 0.5, 0, 0, 0.05, 1, 1],
      }),
    },
    expected: [
      [8, 8, 16, 16, 0.5, 1],
      [8, -8, 24, 24, 0.5, 0],
      [32, 0, 64, 32, 0.5, 1],
    ],
  },
  {
    behaviour: "yolox: pixels with `decoded` in the card",
    card: { decoder: { family: "yolox", decoded: true }, labels: 2 },
    made: { output: rows(42, 7, { 7: [20, 10, 8, 4, 1, 0.5, 0.25] }) },
    expected: [[16, 8, 24, 12, 0.5, 0]],
  },
  {
    behaviour: "yolo: v5, with objectness",
    card: { decoder: { family: "yolo" }, labels: 3 },
    made: { output0: rows(126, 8, { 100: [20, 10, 8, 4, 0.5, 0.25, 0, 0.5] }) },
    expected: [[16, 8, 24, 12, 0.25, 2]],
  },
  {
    behaviour: "yolo: v5 with one label is not a list",
    card: { decoder: { family: "yolo" }, labels: 1 },
    made: { output0: rows(126, 6, { 100: [20, 10, 8, 4, 0.5, 0.5] }) },
    expected: [[16, 8, 24, 12, 0.25, 0]],
  },
  {
    behaviour: "yolo: v8 and v11, transposed",
    card: { decoder: { family: "yolo" }, labels: 3 },
    made: {
      output0: floats(
        [1, 7, 42],
        [20, 10, 8, 4, 0.25, 0.5, 0.125].flatMap((value) =>
          Array.from({ length: 42 }, (_, i) => (i === 17 ? value : 0)),
        ),
      ),
    },
    expected: [[16, 8, 24, 12, 0.5, 1]],
  },
  {
    behaviour: "yolo: the same in rows, in fractions",
    card: { decoder: { family: "yolo", units: "fractions" }, labels: 3 },
    made: { output0: rows(42, 7, { 3: [0.5, 0.5, 0.25, 0.5, 0.25, 0.125, 0.5] }) },
    expected: [[24, 8, 40, 24, 0.5, 2]],
  },
  {
    behaviour: "yolo: v8 in rows with two labels is not a list",
    card: { decoder: { family: "yolo" }, labels: 2 },
    made: { output0: rows(42, 6, { 3: [20, 10, 8, 4, 0.25, 0.5] }) },
    expected: [[16, 8, 24, 12, 0.5, 1]],
  },
  ...[1, 2, 80].map((labels) => ({
    behaviour: `yolo: v10 and v26, a list, with ${labels} labels`,
    card: { decoder: { family: "yolo" as const }, labels },
    made: { output0: rows(300, 6, { 0: [1, 2, 11, 12, 0.5, 0], 1: [0, 0, 9, 9, 0.05, 0] }) },
    expected: [[1, 2, 11, 12, 0.5, 0]],
  })),
  {
    behaviour: "picodet: mean distances from the centre of a cell, two outputs per level in any order",
    card: { decoder: { family: "picodet", strides: [8, 16] }, labels: 3 },
    made: {
      c16: rows(8, 3, { 5: [0, 0.5, 0] }),
      c8: rows(32, 3, { 9: [0.25, 0, 0.5] }),
      d8: rows(32, 32, { 9: [...bin(1), ...bin(0), ...bin(2), ...bin(1)] }),
      d16: rows(8, 32, { 5: [...bin(1), ...bin(1), ...bin(1), ...bin(0)] }),
    },
    // Cell 9 of stride 8 has its centre at (12, 12); cell 5 of stride 16 at (24, 24).
    expected: [
      [4, 12, 28, 20, 0.5, 2],
      [8, 8, 40, 24, 0.5, 1],
    ],
  },
  {
    behaviour: "picodet: a spread of distances gives their mean",
    card: { decoder: { family: "picodet", strides: [32] }, labels: 1 },
    made: {
      scores: rows(2, 1, { 0: [0.5] }),
      distances: rows(2, 8, { 0: [0, 0, 0, Math.log(3), 50, 0, 50, 0] }),
    },
    // 0 and 1 strides evenly: 0.5; one to three: 0.75.
    expected: [[0, -8, 16, 16, 0.5, 0]],
  },
  {
    behaviour: "picodet: NanoDet-Plus, one output, logits as set in the card, anchors in corners",
    card: { decoder: { family: "picodet", scores: "sigmoid" }, labels: 2 },
    made: {
      output: floats(
        [1, 43, 34],
        Array.from({ length: 43 }, (_, i) =>
          i === 33
            ? [logit(0.25), logit(0.75), ...bin(1), ...bin(0), ...bin(1), ...bin(1)]
            : [-9, -9, ...Array.from({ length: 32 }, () => 0)],
        ).flat(),
      ),
    },
    expected: [[0, 0, 32, 16, 0.75, 1]],
  },
  {
    behaviour: "picodet: decoded in the graph, scores transposed",
    card: { decoder: { family: "picodet" }, labels: 2 },
    made: {
      boxes: rows(3, 4, { 1: [1, 2, 11, 12] }),
      scores: floats([1, 2, 3], [0, 0.25, 0, 0, 0.5, 0]),
    },
    expected: [[1, 2, 11, 12, 0.5, 1]],
  },
  {
    behaviour: "picodet: PaddleDetection's list",
    card: { decoder: { family: "picodet" }, labels: 2 },
    made: { out: floats([2, 6], [1, 0.5, 1, 2, 11, 12, -1, 0.9, 0, 0, 5, 5]), count: whole([1], [2]) },
    expected: [[1, 2, 11, 12, 0.5, 1]],
  },
  {
    behaviour: "detr: as many logits as labels use sigmoid",
    card: { decoder: { family: "detr" }, labels: 3 },
    made: {
      logits: floats([1, 2, 3], [-9, -9, -9, logit(0.25), logit(0.75), -9]),
      pred_boxes: rows(2, 4, { 1: [0.5, 0.5, 0.5, 0.25] }),
    },
    expected: [[16, 12, 48, 20, 0.75, 1]],
  },
  {
    behaviour: "detr: one more logit means no object",
    card: { decoder: { family: "detr" }, labels: 2 },
    made: {
      pred_boxes: rows(2, 4, { 0: [0.5, 0.5, 0.5, 0.25], 1: [0.5, 0.5, 0.5, 0.25] }),
      pred_logits: floats([1, 2, 3], [Math.log(1), Math.log(5), Math.log(4), 0, 0, 9]),
    },
    expected: [[16, 12, 48, 20, 0.5, 1]],
  },
  {
    behaviour: "detr: 92 logits for COCO are category ids and no object",
    card: { decoder: { family: "detr" }, labels: "coco" },
    made: {
      pred_boxes: rows(1, 4, { 0: [0.5, 0.5, 0.5, 0.25] }),
      pred_logits: floats(
        [1, 1, 92],
        Array.from({ length: 92 }, (_, i) => (i === 13 ? 20 : 0)),
      ),
    },
    // Id 12 is a gap: stop sign has id 13 and is the twelfth label.
    expected: [[16, 12, 48, 20, 1, 11]],
  },
  {
    behaviour: "detr: lists of a graph with post-processing",
    card: { decoder: { family: "detr" }, labels: 3 },
    made: {
      labels: whole([1, 2], [2, 0]),
      boxes: floats([1, 2, 4], [1, 2, 11, 12, 3, 4, 13, 14]),
      scores: floats([1, 2], [0.5, 0.05]),
    },
    expected: [[1, 2, 11, 12, 0.5, 2]],
  },
  {
    behaviour: "detr: rows of boxes and scores",
    card: { decoder: { family: "detr" }, labels: 3 },
    made: { output0: rows(300, 7, { 3: [0.5, 0.5, 0.5, 0.25, 0.25, 0.5, 0] }) },
    expected: [[16, 12, 48, 20, 0.5, 1]],
  },
];

for (const { behaviour, card, made, expected } of CASES)
  test(behaviour, () => assert.deepEqual(decode(card, made), expected));

test("accepts a score equal to the minimum, in rows and in columns", () => {
  for (const [dims, values] of [
    [
      [1, 42, 7],
      [20, 10, 8, 4, 0, 0.5, 0.5],
    ],
    [[1, 7, 9], [20, 10, 8, 4, 0, 0.5, 0.5].flatMap((value) => [value, ...Array.from({ length: 8 }, () => 0)])],
  ] as const) {
    const found = decode({ decoder: { family: "yolo" }, labels: 3 }, { output0: floats(dims, values) }, 0.5);
    assert.deepEqual(found, [[16, 8, 24, 12, 0.5, 1]]);
  }
});
