import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MessageQueue, type QueuedMessage } from "./message-queue.ts";

const letter = (n: number, bytes = 10, isKept = false): QueuedMessage => ({
  json: JSON.stringify({ n }),
  bytes,
  isKept,
});
const drain = (outbox: MessageQueue<QueuedMessage>) => {
  const all: { n: number; dropped?: number }[] = [];
  for (let next = outbox.take(); next !== null; next = outbox.take()) all.push(JSON.parse(next.json));
  return all;
};

test("drops the oldest beyond the limit, and the next message says how many", () => {
  const outbox = new MessageQueue({ messages: 3, bytes: 1000 });
  for (let n = 1; n <= 5; n++) outbox.put(letter(n));
  assert.deepEqual(drain(outbox), [{ n: 3, dropped: 2 }, { n: 4 }, { n: 5 }]);
  outbox.put(letter(6));
  assert.deepEqual(drain(outbox), [{ n: 6 }]);
});

test("limits bytes as well, but always keeps the newest", () => {
  const outbox = new MessageQueue({ messages: 100, bytes: 25 });
  for (let n = 1; n <= 3; n++) outbox.put(letter(n));
  outbox.put(letter(4, 1000));
  assert.deepEqual(drain(outbox), [{ n: 4, dropped: 3 }]);
});

test("drops kept messages last", () => {
  const outbox = new MessageQueue({ messages: 2, bytes: 1000 });
  outbox.put(letter(1, 10, true));
  outbox.put(letter(2));
  outbox.put(letter(3));
  assert.deepEqual(drain(outbox), [{ n: 1, dropped: 1 }, { n: 3 }]);
  for (let n = 1; n <= 4; n++) outbox.put(letter(n, 10, true));
  assert.deepEqual(drain(outbox), [{ n: 3, dropped: 2 }, { n: 4 }]);
});

test("every message is delivered in order or counted as dropped", () => {
  const step = fc.oneof(fc.record({ bytes: fc.integer({ min: 1, max: 60 }), isKept: fc.boolean() }), fc.constant(null));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const outbox = new MessageQueue({ messages: 5, bytes: 100 });
      let put = 0;
      const got: { n: number; dropped?: number }[] = [];
      for (const each of steps) {
        if (each !== null) outbox.put(letter(++put, each.bytes, each.isKept));
        else got.push(...[outbox.take()].flatMap((next) => (next === null ? [] : [JSON.parse(next.json)])));
      }
      got.push(...drain(outbox));
      const dropped = got.reduce((sum, message) => sum + (message.dropped ?? 0), 0);
      assert.equal(got.length + dropped, put);
      assert.deepEqual(
        got.map(({ n }) => n).sort((a, b) => a - b),
        got.map(({ n }) => n),
      );
      if (put > 0) assert.equal(got.at(-1)?.n, put);
    }),
  );
});
