import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateCommonMiss } from "./joint-motion.ts";

const misses = (offsets: readonly number[]) => offsets.map((offset) => ({ offset, variance: 0.01 }));

test("what all have in common is the camera's", () => {
  const found = estimateCommonMiss(misses([1.02, 0.97, 1, 1.04, 0.98]), 10);
  assert.ok(Math.abs(found - 1) < 0.05, String(found));
});

test("one of its own mind changes little", () => {
  const found = estimateCommonMiss(misses([1, 1, 1, 1, 4]), 10);
  assert.ok(Math.abs(found - 1) < 0.1, String(found));
});

test("two objects say nothing about the camera", () => {
  assert.equal(estimateCommonMiss(misses([1, 1]), 10), 0);
});

test("where cameras hardly move, little is believed", () => {
  const found = estimateCommonMiss(misses([0.1, 0.1, 0.1]), 0.01);
  assert.ok(found > 0 && found < 0.02, String(found));
});
