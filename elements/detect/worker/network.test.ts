import assert from "node:assert/strict";
import test from "node:test";
import { expectNumbers } from "./network.ts";

const output = (data: Float32Array | BigInt64Array) => ({ type: "float32", dims: [data.length], data });

test("outputs of numbers pass", () => {
  expectNumbers({ boxes: output(new Float32Array(100_000)), classes: output(new BigInt64Array(4)) });
});

test("a network that gives NaN is named by its output", () => {
  const scores = new Float32Array(100_000).fill(Number.NaN, 3_000, 50_000);
  assert.throws(
    () => expectNumbers({ boxes: output(new Float32Array(4)), scores: output(scores) }),
    /NaN in its output scores/,
  );
});

test("one NaN is enough in an output that is looked at in full", () => {
  const boxes = new Float32Array(4096);
  boxes[4095] = Number.NaN;
  assert.throws(() => expectNumbers({ boxes: output(boxes) }), /NaN/);
});
