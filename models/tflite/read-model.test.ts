import assert from "node:assert/strict";
import { test } from "node:test";
import { BadTflite } from "./flatbuffer.ts";
import { type SketchedModel, writeTflite } from "./read-model.fixture.ts";
import { readModel } from "./read-model.ts";

const NONE = new Uint8Array(0);
const SKETCH: SketchedModel = {
  inputs: [0],
  outputs: [3],
  tensors: [
    {
      ...{ name: "picture", type: "int8", shape: [1, 8, 6, 1], data: NONE },
      quantisation: { scales: [0.5], zeroPoints: [-3], axis: 0 },
    },
    {
      ...{ name: "weights", type: "int8", shape: [1, 3, 3, 1], data: Uint8Array.from({ length: 9 }, (_, i) => i) },
      quantisation: { scales: [0.25], zeroPoints: [0], axis: 3 },
    },
    { name: "bias", type: "int32", shape: [1], data: new Uint8Array(4), quantisation: null },
    { name: "result", type: "int8", shape: [1, 4, 3, 1], data: NONE, quantisation: null },
  ],
  operators: [
    {
      ...{ code: 4, inputs: [0, 1, 2], outputs: [3] },
      options: { 1: { int32: 3 }, 2: { int32: 2 }, 4: { uint8: 3 }, 5: { int32: 1 }, 6: { int32: 2 } },
    },
    { code: 17, inputs: [3], outputs: [3], options: { 0: { uint8: 1 }, 1: { int32: 2 }, 3: { int32: 5 } } },
    { code: 97, inputs: [3, -1], outputs: [3], options: { 1: { uint8: 1 } } },
    { code: 14, inputs: [3], outputs: [3] },
    { code: 32, custom: "Own", inputs: [3], outputs: [3] },
  ],
};

test("reads tensors with their data and their scales", () => {
  const model = readModel(writeTflite(SKETCH));
  const tensors = model.tensors.map(({ data, ...rest }) => ({ ...rest, data: Array.from(data) }));
  assert.deepEqual(
    tensors,
    SKETCH.tensors.map((tensor, index) => ({ index, ...tensor, data: Array.from(tensor.data) })),
  );
  assert.deepEqual([model.inputs, model.outputs], [[0], [3]]);
});

test("reads operators with their settings and defaults", () => {
  const { operators } = readModel(writeTflite(SKETCH));
  assert.deepEqual(
    operators.map(({ kind }) => kind),
    [
      {
        ...{ kind: "conv", depthwise: true, dilation: [2, 1] },
        window: { stride: [2, 3], padded: true, activation: "relu6" },
      },
      { kind: "max-pool", size: [0, 5], window: { stride: [1, 2], padded: false, activation: "none" } },
      { kind: "resize-nearest", alignCorners: false, halfPixel: true },
      { kind: "logistic" },
      { kind: "custom", name: "Own" },
    ],
  );
  assert.deepEqual(operators[2]?.inputs, [3, -1]);
});

test("reads a file at an offset in its buffer", () => {
  const file = writeTflite(SKETCH);
  const shifted = Buffer.concat([Buffer.alloc(3), file]).subarray(3);
  assert.deepEqual(readModel(shifted), readModel(file));
});

const withOperator = (change: Partial<SketchedModel["operators"][number]>): SketchedModel => ({
  ...SKETCH,
  operators: [{ code: 14, inputs: [3], outputs: [3], ...change }],
});

const FAULTS: readonly (readonly [string, SketchedModel, RegExp])[] = [
  ["an unknown operator", withOperator({ code: 25 }), /operator 25, which is not part of an EfficientDet-Lite/],
  ["a missing tensor", withOperator({ inputs: [4] }), /refers to tensor 4 and has 4/],
  ["an unknown activation", withOperator({ code: 0, options: { 0: { uint8: 4 } } }), /activation 4; expected 0/],
  ["a stride of 0", withOperator({ code: 3, options: { 1: { int32: 0 } } }), /a stride of 1 and 0/],
  [
    "data whose length does not match the shape",
    { ...SKETCH, tensors: SKETCH.tensors.map((t) => (t.name === "bias" ? { ...t, shape: [2] } : t)) },
    /tensor bias \[2\] int32 needs 8 bytes, the file has 4/,
  ],
];

for (const [what, sketch, message] of FAULTS) {
  test(`rejects ${what}`, () => {
    assert.throws(
      () => readModel(writeTflite(sketch)),
      (error) => error instanceof BadTflite && message.test(error.message),
    );
  });
}
