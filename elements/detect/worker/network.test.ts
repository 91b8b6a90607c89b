import assert from "node:assert/strict";
import test from "node:test";
import { expectNumbers } from "./network.ts";

const output = (data: Float32Array | BigInt64Array) => ({ type: "float32", dims: [data.length], data });

test("accepts outputs without NaN", () => {
  expectNumbers({ boxes: output(new Float32Array(100_000)), classes: output(new BigInt64Array(4)) });
});

test("names the output that holds NaN", () => {
  const scores = new Float32Array(100_000).fill(Number.NaN, 3_000, 50_000);
  assert.throws(
    () => expectNumbers({ boxes: output(new Float32Array(4)), scores: output(scores) }),
    /NaN in its output scores/,
  );
});

test("finds a single NaN in an output that is checked completely", () => {
  const boxes = new Float32Array(4096);
  boxes[4095] = Number.NaN;
  assert.throws(() => expectNumbers({ boxes: output(boxes) }), /NaN/);
});
