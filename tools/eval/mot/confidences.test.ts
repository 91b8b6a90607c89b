import assert from "node:assert/strict";
import { test } from "node:test";
import { rankConfidences } from "./confidences.ts";

const rank = (confidences: readonly number[]): readonly number[] =>
  confidences.map(rankConfidences(confidences)).map((one) => Math.round(one * 1000) / 1000);

test("keeps confidences from 0 to 1", () => assert.deepEqual(rank([0, 0.5, 1]), [0, 0.5, 1]));

test("replaces other scales by ranks, in their order", () => {
  assert.deepEqual(rank([67.5, 19.6, 120]), [0.8, 0.6, 1]);
  assert.deepEqual(rank([-0.4, 0.3, 2.1]), [0.6, 0.8, 1]);
});

test("equal values stay equal", () => assert.deepEqual(rank([50, 9, 50]), [1, 0.6, 1]));

test("a single detection has the lowest rank", () => {
  assert.deepEqual(rank([]), []);
  assert.deepEqual(rank([80]), [0.6]);
});
