import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelMisfit } from "../fault.ts";
import { findFamilies } from "./families.ts";
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

test("rejects a model that does not fit, with its tensors and the layouts of its family", () => {
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

test("suggests the family that can read the model", () => {
  const message = misfitOf({ decoder: { family: "efficientdet" }, labels: 3 }, { output: floats([1, 42, 8]) });
  assert.match(message, /yolox or yolo could read it: set decoder\.family/);
});

test("rejects an option that the family does not have", () => {
  const message = misfitOf({ decoder: { family: "yolo", strides: [8] }, labels: 3 }, { output: floats([1, 42, 8]) });
  assert.match(message, /yolo has no option strides; it has form, units/);
});

test("rejects a value that the family does not support", () => {
  const made = { c: floats([1, 2, 1]), d: floats([1, 2, 32]) };
  const message = misfitOf({ decoder: { family: "picodet", strides: [32], scores: "softmax" }, labels: 1 }, made);
  assert.match(message, /decoder\.scores is softmax; picodet expects ready or sigmoid/);
});

test("rejects outputs of another type than float32", () => {
  const output = { ...floats([1, 42, 8]), type: "float16" };
  assert.match(misfitOf({ decoder: { family: "yolo" }, labels: 3 }, { output }), /output: float16 \[1, 42, 8\]/);
});

test("rejects a run whose outputs have other shapes than declared", () => {
  const decoder = decoderFor({ decoder: { family: "yolo" }, labels: 3 }, declare({ output: floats([1, 42, 8]) }));
  assert.throws(() => decoder.decode({ output: floats([1, 42, 9]) }, 0.1), /expected \[1, any, 8\], found \[1,42,9\]/);
  assert.throws(() => decoder.decode({ other: floats([1, 42, 8]) }, 0.1), /found only the outputs other/);
});

test("accepts dynamic dimensions", () => {
  const outputs = [{ name: "output", type: "float32", shape: ["batch", "anchors", 8] }];
  const decoder = decoderFor({ decoder: { family: "yolo" }, labels: 3 }, outputs);
  const { count } = decoder.decode({ output: floats([1, 1, 8], [5, 5, 4, 4, 1, 0, 0.5, 0]) }, 0.1);
  assert.equal(count, 1);
});

const COLUMNS = [20, 10, 8, 4, 0.25, 0.5, 0.125].flatMap((value) => [0, value, 0, 0, 0, 0, 0, 0]);

test("prefers a fixed number of classes to a dynamic one", () => {
  const outputs = [{ name: "output", type: "float32", shape: ["batch", 7, "anchors"] }];
  const { boxes, classIds } = decoderFor({ decoder: { family: "yolo" }, labels: 3 }, outputs).decode(
    { output: floats([1, 7, 8], COLUMNS) },
    0.1,
  );
  assert.deepEqual([...boxes, ...classIds], [16, 8, 24, 12, 1]);
});

test("accepts a dynamic number of classes if only one layout fits", () => {
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
  test(`requires decoder.form for a dynamic number of rows of six with ${labels} labels`, () => {
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
        assert.match(error.message, /select one with decoder\.form in the card/);
        return true;
      },
    );
  });
  test(`reads rows of six with ${labels} labels according to decoder.form`, () => {
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

test("reads rows of six with other numbers of labels as a list", () => {
  const outputs = [{ name: "output", type: "float32", shape: ["batch", "n", 6] }];
  const made = { output: floats([1, 1, 6], [20, 10, 24, 14, 0.5, 2]) };
  assert.equal(decoderFor({ decoder: { family: "yolo" }, labels: 3 }, outputs).decode(made, 0.1).count, 1);
});

test("does not guess outputs with dynamic dimensions only", () => {
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
  test(`suggests ${families.join(" and ") || "no family"} for an output [${shape.join(", ")}] with 80 classes`, () => {
    const card = { input: { width: 64, height: 32 }, labels: "coco" as const };
    assert.deepEqual(findFamilies(card, 80, [{ name: "output", type: "float32", shape }]), families);
  });

test("suggests a family that can read the outputs in two ways", () => {
  const card = { input: { width: 64, height: 32 }, labels: ["cat", "dog"] };
  const outputs = [{ name: "output", type: "float32", shape: ["batch", "n", 6] }];
  assert.deepEqual(findFamilies(card, 2, outputs), ["yolo", "picodet", "detr"]);
});

test("drops boxes without area and boxes with NaN", () => {
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

test("keeps the result of an earlier frame unchanged", () => {
  const card: Card = { decoder: { family: "yolo" }, labels: 3 };
  const made = { o: floats([1, 1, 8], [10, 10, 4, 4, 1, 0.5, 0, 0]) };
  const decoder = decoderFor(card, declare(made));
  const first = decoder.decode(made, 0.1);
  decoder.decode({ o: floats([1, 1, 8], [20, 20, 4, 4, 1, 0, 0.75, 0]) }, 0.1);
  assert.deepEqual([...first.boxes, ...first.classIds], [8, 8, 12, 12, 0]);
});
