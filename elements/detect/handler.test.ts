import assert from "node:assert/strict";
import test from "node:test";
import { DetectStats } from "./handler.ts";

test("reports once per second, with rates since the last report and counts since the start", () => {
  const stats = new DetectStats(0);
  for (const ms of [40, 42, 60]) stats.countInferred(ms, 2 * ms);
  stats.countPassed();
  assert.equal(stats.read(999, 0), null);
  const first = {
    inference_ms: 42,
    latency_ms: 84,
    inferred_per_second: 3,
    frames: 4,
    inferred: 3,
    still: 0,
    skipped: 1,
  };
  assert.deepEqual(stats.read(1000, 1), first);
  assert.equal(stats.read(1500, 1), null);
  stats.countInferred(42, 84);
  assert.deepEqual(stats.read(3000, 1), { ...first, inferred_per_second: 0.5, frames: 5, inferred: 4 });
});

test("the median covers only the last inferences", () => {
  const stats = new DetectStats(0);
  for (let count = 0; count < 300; count++) stats.countInferred(100, 100);
  for (let count = 0; count < 200; count++) stats.countInferred(10, 10);
  assert.equal(stats.inferenceMs, 10);
});

test("the median is 0 before the first inference", () => {
  assert.equal(new DetectStats(0).inferenceMs, 0);
});
