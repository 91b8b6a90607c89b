import assert from "node:assert/strict";
import { test } from "node:test";
import { FairQueue } from "./fair-queue.ts";

const drain = (queue: FairQueue<string>): readonly string[] =>
  Array.from({ length: queue.size }, () => queue.take() ?? assert.fail("it is empty"));

test("keys take turns, each in its own order", () => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "a3", "b1", "c1", "c2"]) queue.add(item.slice(0, 1), item);
  assert.deepEqual(drain(queue), ["a1", "b1", "c1", "a2", "c2", "a3"]);
  assert.equal(queue.take(), undefined);
});

test("a key that has just had its turn comes after one that waits since, also when nothing of it was left meanwhile", () => {
  const queue = new FairQueue<string>();
  queue.add("a", "a1");
  assert.equal(queue.take(), "a1");
  for (const item of ["a2", "a3", "b1"]) queue.add(item.slice(0, 1), item);
  assert.deepEqual(drain(queue), ["b1", "a2", "a3"]);
});

test("what is removed has no turn", () => {
  const queue = new FairQueue<string>();
  for (const item of ["a1", "a2", "b1"]) queue.add(item.slice(0, 1), item);
  assert.ok(queue.remove("a", "a1"));
  assert.ok(!queue.remove("a", "a1"));
  assert.ok(queue.remove("b", "b1"));
  assert.deepEqual([queue.size, queue.countOf("a"), queue.countOf("b")], [1, 1, 0]);
  assert.deepEqual(drain(queue), ["a2"]);
});
