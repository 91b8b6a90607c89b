import assert from "node:assert/strict";
import { test } from "node:test";
import { newUuid } from "../uuid.ts";
import { EventQueue, type QueuedEvent } from "./alert-writer.ts";

const eventOf = (id: string, bytes: number, processUuid = newUuid()): QueuedEvent => ({
  id,
  event: { alert: newUuid(), type: "flow-control", timeMs: 0, event: "triggered", tracks: [], data: {} },
  process: { row: { uuid: processUuid, sourceUuid: newUuid() }, tell() {} },
  bytes,
});

test("limits a batch by number and bytes, but takes at least one event", () => {
  const queue = new EventQueue({ count: 100, bytes: 100_000, batch: { count: 3, bytes: 250 } });
  for (const id of [1, 2, 3, 4, 5, 6]) queue.add(eventOf(String(id), 100));
  queue.add(eventOf("large", 9000));
  const take = () => queue.take().map(({ id }) => id);
  assert.deepEqual([take(), take(), take(), take(), take()], [["1", "2"], ["3", "4"], ["5", "6"], ["large"], []]);
  for (const id of [1, 2, 3, 4]) queue.add(eventOf(String(id), 10));
  assert.deepEqual([take(), take()], [["1", "2", "3"], ["4"]]);
});

test("drops the oldest events of the process with the most bytes, and none of other processes", () => {
  const queue = new EventQueue({ count: 10, bytes: 1000, batch: { count: 100, bytes: 100_000 } });
  const [loud, quiet] = [newUuid(), newUuid()];
  queue.add(eventOf("quiet", 10, quiet));
  for (let id = 1; id <= 50; id++) queue.add(eventOf(String(id), 100, loud));
  const left = queue.take();
  assert.deepEqual(
    left.map(({ id }) => id),
    ["quiet", ...[42, 43, 44, 45, 46, 47, 48, 49, 50].map(String)],
  );
  assert.deepEqual([queue.dropped, queue.isEmpty], [41, true]);
  queue.putBack(left);
  assert.equal(queue.size, 10);
});
