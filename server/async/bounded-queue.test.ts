import assert from "node:assert/strict";
import { test } from "node:test";
import { BoundedQueue } from "./bounded-queue.ts";

const itemOf = (id: string, bytes: number, owner = "one") => ({ id, bytes, owner });

test("limits a batch by number and bytes, but takes at least one item", () => {
  const queue = new BoundedQueue<ReturnType<typeof itemOf>>({
    ...{ count: 100, bytes: 100_000, batch: { count: 3, bytes: 250 } },
  });
  for (const id of [1, 2, 3, 4, 5, 6]) queue.add(itemOf(String(id), 100));
  queue.add(itemOf("large", 9000));
  const take = () => queue.take().map(({ id }) => id);
  assert.deepEqual([take(), take(), take(), take(), take()], [["1", "2"], ["3", "4"], ["5", "6"], ["large"], []]);
  for (const id of [1, 2, 3, 4]) queue.add(itemOf(String(id), 10));
  assert.deepEqual([take(), take()], [["1", "2", "3"], ["4"]]);
});

test("drops the oldest items of the owner with the most bytes, and none of other owners", () => {
  const queue = new BoundedQueue<ReturnType<typeof itemOf>>({
    ...{ count: 10, bytes: 1000, batch: { count: 100, bytes: 100_000 } },
  });
  queue.add(itemOf("quiet", 10, "quiet"));
  for (let id = 1; id <= 50; id++) queue.add(itemOf(String(id), 100, "loud"));
  const left = queue.take();
  assert.deepEqual(
    left.map(({ id }) => id),
    ["quiet", ...[42, 43, 44, 45, 46, 47, 48, 49, 50].map(String)],
  );
  assert.deepEqual([queue.dropped, queue.isEmpty], [41, true]);
  queue.putBack(left);
  assert.equal(queue.size, 10);
});
