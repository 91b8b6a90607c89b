import assert from "node:assert/strict";
import { test } from "node:test";
import { SerialQueue } from "./serial-queue.ts";

const late = () => new Error("too late");

/** Adds a task that ends when the returned function is called. */
function block(queue: SerialQueue): () => void {
  let end = (): void => {};
  void queue.run(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
  );
  return () => end();
}

test("runs a task after those before it, whether they succeed or fail", async () => {
  const queue = new SerialQueue();
  const order: number[] = [];
  const first = queue.run(async () => {
    await new Promise((resolve) => setImmediate(resolve));
    order.push(1);
    throw new Error("no");
  });
  const second = queue.runWithin(600_000, late, async () => order.push(2));
  await assert.rejects(first, /no/);
  await second;
  assert.deepEqual(order, [1, 2]);
});

test("counts tasks with a limit that have not started", async () => {
  const queue = new SerialQueue();
  const release = block(queue);
  await new Promise((resolve) => setImmediate(resolve));
  const waiting = [queue.runWithin(600_000, late, async () => 1), queue.runWithin(600_000, late, async () => 2)];
  assert.equal(queue.waiting, 2);
  release();
  assert.deepEqual(await Promise.all(waiting), [1, 2]);
  assert.equal(queue.waiting, 0);
});

test("rejects a task that does not start in time, and never runs it", async () => {
  const queue = new SerialQueue();
  const release = block(queue);
  let hasRun = false;
  const rejected = queue.runWithin(20, late, async () => {
    hasRun = true;
  });
  await assert.rejects(rejected, /too late/);
  release();
  await queue.run(async () => {});
  assert.equal(hasRun, false);
});

test("a task that throws before its first await rejects, and the next one runs", async () => {
  const queue = new SerialQueue();
  const task = (): Promise<never> => {
    throw new Error("at once");
  };
  await assert.rejects(
    queue.runWithin(60_000, () => new Error("late"), task),
    /at once/,
  );
  assert.equal(
    await queue.runWithin(
      60_000,
      () => new Error("late"),
      async () => 7,
    ),
    7,
  );
});
