import assert from "node:assert/strict";
import test from "node:test";
import { Readings } from "./handler.ts";

test("a reading comes once a second, with rates since the last and counts since the start", () => {
  const readings = new Readings(0);
  for (const ms of [40, 42, 60]) readings.looked(ms, 2 * ms);
  readings.passed();
  assert.equal(readings.read(999, 0), null);
  const first = { inference_ms: 42, latency_ms: 84, inferred_per_second: 3, frames: 4, inferred: 3, skipped: 1 };
  assert.deepEqual(readings.read(1000, 1), first);
  assert.equal(readings.read(1500, 1), null);
  readings.looked(42, 84);
  assert.deepEqual(readings.read(3000, 1), { ...first, inferred_per_second: 0.5, frames: 5, inferred: 4 });
});

test("the median follows the last inferences only", () => {
  const readings = new Readings(0);
  for (let count = 0; count < 300; count++) readings.looked(100, 100);
  for (let count = 0; count < 200; count++) readings.looked(10, 10);
  assert.equal(readings.inferenceMs, 10);
});

test("before the first inference nothing is known", () => {
  assert.equal(new Readings(0).inferenceMs, 0);
});
