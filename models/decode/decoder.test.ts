import assert from "node:assert/strict";
import { test } from "node:test";
import { findFamilies } from "./decoder.ts";
import { ModelMisfit } from "./misfit.ts";
import { type Card, declare, decode, decoderFor, floats, type Made } from "./outputs.fixture.ts";

const misfitOf = (card: Card, made: Made): string => {
  try {
    decoderFor(card, declare(made));
  } catch (error) {
    assert.ok(error instanceof ModelMisfit);
    return error.message;
  }
  assert.fail("it fits");
};

test("a model that does not fit is refused with every tensor it has and what its family reads", () => {
  const message = misfitOf(
    { decoder: { family: "yolo" }, labels: 3 },
    { heat: floats([1, 3, 8, 16]), depth: floats([1, 32, 64]) },
  );
  assert.match(message, /^made-up: the outputs of this model do not fit the decoder yolo/);
  assert.match(message, /heat: float32 \[1, 3, 8, 16\]\n\s+depth: float32 \[1, 32, 64\]/);
  assert.match(message, /yolo with 3 labels and an input of 64×32 reads/);
  assert.match(message, /\[1, N, 8\]: centre, size, objectness/);
  assert.match(message, /\[1, 7, N\]/);
  assert.match(message, /check decoder\.family/);
});

test("a model of another family is told of the family that reads it", () => {
  const message = misfitOf({ decoder: { family: "efficientdet" }, labels: 3 }, { output: floats([1, 42, 8]) });
  assert.match(message, /yolox or yolo could read it: set decoder\.family/);
});

test("an option that means nothing to the family is refused", () => {
  const message = misfitOf({ decoder: { family: "yolo", strides: [8] }, labels: 3 }, { output: floats([1, 42, 8]) });
  assert.match(message, /yolo has no option strides; it has form, units/);
});

test("an option that the family cannot follow is refused", () => {
  const made = { c: floats([1, 2, 1]), d: floats([1, 2, 32]) };
  const message = misfitOf({ decoder: { family: "picodet", strides: [32], scores: "softmax" }, labels: 1 }, made);
  assert.match(message, /decoder\.scores is softmax; picodet has ready or sigmoid/);
});

test("outputs of another type than float32 do not fit", () => {
  const output = { ...floats([1, 42, 8]), type: "float16" };
  assert.match(misfitOf({ decoder: { family: "yolo" }, labels: 3 }, { output }), /output: float16 \[1, 42, 8\]/);
});

test("a run whose outputs have other shapes than declared is refused", () => {
  const decoder = decoderFor({ decoder: { family: "yolo" }, labels: 3 }, declare({ output: floats([1, 42, 8]) }));
  assert.throws(() => decoder.decode({ output: floats([1, 42, 9]) }, 0.1), /expected \[1, any, 8\], met \[1,42,9\]/);
  assert.throws(() => decoder.decode({ other: floats([1, 42, 8]) }, 0.1), /there is none, only other/);
});

test("dimensions that are known only when the model runs fit", () => {
  const outputs = [{ name: "output", type: "float32", shape: ["batch", "anchors", 8] }];
  const decoder = decoderFor({ decoder: { family: "yolo" }, labels: 3 }, outputs);
  const { count } = decoder.decode({ output: floats([1, 1, 8], [5, 5, 4, 4, 1, 0, 0.5, 0]) }, 0.1);
  assert.equal(count, 1);
});

const COLUMNS = [20, 10, 8, 4, 0.25, 0.5, 0.125].flatMap((value) => [0, value, 0, 0, 0, 0, 0, 0]);

test("a number of classes that is known goes before one that is only known when the model runs", () => {
  const outputs = [{ name: "output", type: "float32", shape: ["batch", 7, "anchors"] }];
  const { boxes, classIds } = decoderFor({ decoder: { family: "yolo" }, labels: 3 }, outputs).decode(
    { output: floats([1, 7, 8], COLUMNS) },
    0.1,
  );
  assert.deepEqual([...boxes, ...classIds], [16, 8, 24, 12, 1]);
});

test("a number of classes that is not known fits where only one reading is left", () => {
  const outputs = [{ name: "output", type: "float32", shape: [1, "rows", 42] }];
  const { count } = decoderFor({ decoder: { family: "yolo" }, labels: 3 }, outputs).decode(
    { output: floats([1, 7, 8], COLUMNS) },
    0.1,
  );
  assert.equal(count, 1);
});

const DOUBTFUL: readonly [labels: number, forms: readonly ("objectness" | "rows" | "list")[]][] = [
  [1, ["objectness", "list"]],
  [2, ["rows", "list"]],
];
for (const [labels, forms] of DOUBTFUL) {
  const outputs = [{ name: "output", type: "float32", shape: ["batch", "n", 6] }];
  test(`rows of six, nobody knows how many, with ${labels} labels: the card must say what they are`, () => {
    assert.throws(
      () => decoderFor({ decoder: { family: "yolo" }, labels }, outputs),
      (error) => {
        assert.ok(error instanceof ModelMisfit);
        assert.match(error.message, /can read the outputs of this model in more than one way/);
        assert.match(error.message, /output: float32 \[batch, n, 6\]/);
        assert.deepEqual(
          [...error.message.matchAll(/form: (\w+)/g)].map(([, form]) => form),
          forms,
        );
        assert.match(error.message, /say in the card which it is with decoder\.form/);
        return true;
      },
    );
  });
  test(`rows of six with ${labels} labels are read as the card says`, () => {
    const made = { output: floats([1, 1, 6], [20, 10, 24, 14, 0.5, 0.5]) };
    const boxes = forms.map((form) => [
      ...decoderFor({ decoder: { family: "yolo", form }, labels }, outputs).decode(made, 0.1).boxes,
    ]);
    assert.deepEqual(boxes, [
      [8, 3, 32, 17],
      [20, 10, 24, 14],
    ]);
  });
}

test("rows of six with other numbers of labels are a list, however many they are", () => {
  const outputs = [{ name: "output", type: "float32", shape: ["batch", "n", 6] }];
  const made = { output: floats([1, 1, 6], [20, 10, 24, 14, 0.5, 2]) };
  assert.equal(decoderFor({ decoder: { family: "yolo" }, labels: 3 }, outputs).decode(made, 0.1).count, 1);
});

test("outputs of which nothing is known are not guessed", () => {
  const outputs = [{ name: "output", type: "float32", shape: ["batch", "n", "m"] }];
  assert.throws(() => decoderFor({ decoder: { family: "yolo" }, labels: 3 }, outputs), /in more than one way/);
  const decoder = decoderFor({ decoder: { family: "yolo", form: "columns" }, labels: 3 }, outputs);
  assert.equal(decoder.decode({ output: floats([1, 7, 8], COLUMNS) }, 0.1).count, 1);
});

const GUESSED: readonly [shape: readonly (number | string)[], families: readonly string[]][] = [
  [["batch", 84, "anchors"], ["yolo"]],
  [
    ["batch", "anchors", 85],
    ["yolox", "yolo"],
  ],
  [
    ["batch", "n", 6],
    ["yolo", "picodet"],
  ],
  [
    ["batch", "n", "m"],
    ["yolox", "yolo", "picodet", "detr"],
  ],
  [[1, 2, 3, 4], []],
];
for (const [shape, families] of GUESSED)
  test(`an output [${shape.join(", ")}] of 80 classes is for ${families.join(" and ") || "no family"}`, () => {
    const card = { input: { width: 64, height: 32 }, labels: "coco" as const };
    assert.deepEqual(findFamilies(card, 80, [{ name: "output", type: "float32", shape }]), families);
  });

test("outputs that a family can read in two ways are still for that family", () => {
  const card = { input: { width: 64, height: 32 }, labels: ["cat", "dog"] };
  const outputs = [{ name: "output", type: "float32", shape: ["batch", "n", 6] }];
  assert.deepEqual(findFamilies(card, 2, outputs), ["yolo", "picodet", "detr"]);
});

test("boxes without area and boxes that are not numbers are left out", () => {
  const good = [10, 10, 4, 4, 1, 0.5, 0, 0];
  const bad = [
    [10, 10, 0, 4, 1, 0.5, 0, 0],
    [Number.NaN, 10, 4, 4, 1, 0.5, 0, 0],
    [10, 10, Number.POSITIVE_INFINITY, 4, 1, 0.5, 0, 0],
    [10, 10, 4, 4, Number.NaN, 0.5, 0, 0],
    [10, 10, 4, -4, 1, 0.5, 0, 0],
  ];
  const rows = decode({ decoder: { family: "yolo" }, labels: 3 }, { o: floats([1, 6, 8], [...bad, good].flat()) });
  assert.deepEqual(rows, [[8, 8, 12, 12, 0.5, 0]]);
});

test("a frame does not change what an earlier frame gave", () => {
  const card: Card = { decoder: { family: "yolo" }, labels: 3 };
  const made = { o: floats([1, 1, 8], [10, 10, 4, 4, 1, 0.5, 0, 0]) };
  const decoder = decoderFor(card, declare(made));
  const first = decoder.decode(made, 0.1);
  decoder.decode({ o: floats([1, 1, 8], [20, 20, 4, 4, 1, 0, 0.75, 0]) }, 0.1);
  assert.deepEqual([...first.boxes, ...first.classIds], [8, 8, 12, 12, 0]);
});
