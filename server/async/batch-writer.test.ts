import assert from "node:assert/strict";
import { test } from "node:test";
import { type BatchQueue, BatchWriter } from "./batch-writer.ts";

class List implements BatchQueue<number> {
  items: number[] = [];
  get isEmpty(): boolean {
    return this.items.length === 0;
  }
  take(): readonly number[] {
    return this.items.splice(0, 8);
  }
  putBack(batch: readonly number[]): void {
    this.items.unshift(...batch);
  }
}

const badData = () => Object.assign(new Error("bad"), { code: "22001" });

function setUp(write: (batch: readonly number[]) => Promise<void>) {
  const queue = new List();
  const [written, rejected, errors]: [number[], number[], unknown[]] = [[], [], []];
  const writer = new BatchWriter({
    queue,
    retry: { firstMs: 1, maxMs: 2 },
    write: async (batch) => {
      await write(batch);
      written.push(...batch);
    },
    onRetry: (error) => errors.push(error),
    onRejected: (item) => rejected.push(item),
  });
  const add = (...items: number[]): void => {
    queue.items.push(...items);
    writer.wake();
  };
  return { queue, written, rejected, errors, writer, add };
}

test("writes what was queued while it wrote as one batch, in order", async () => {
  const batches: number[] = [];
  const { add, writer, written } = setUp(async ({ length }) => void batches.push(length));
  add(1);
  add(2, 3);
  add(4);
  await writer.idle();
  assert.deepEqual(written, [1, 2, 3, 4]);
  assert.deepEqual(batches, [1, 3]);
});

test("retries until the database is reachable again, and loses nothing", async () => {
  let failures = 3;
  const { add, writer, written, errors } = setUp(async () => {
    failures -= 1;
    if (failures >= 0) throw new Error("unreachable");
  });
  add(1, 2, 3);
  await writer.idle();
  assert.deepEqual([written, errors.length], [[1, 2, 3], 3]);
});

test("drops the item that cannot be written, and writes the others in order", async () => {
  const { add, writer, written, rejected, errors } = setUp(async (batch) => {
    if (batch.includes(5) || batch.includes(6)) throw badData();
  });
  add(1, 2, 3, 4, 5, 6, 7, 8, 9);
  await writer.idle();
  assert.deepEqual([written, rejected, errors.length], [[1, 2, 3, 4, 7, 8, 9], [5, 6], 0]);
});

test("keeps the order when the database goes away in the middle of a batch that is split", async () => {
  let isAway = false;
  const { add, writer, written, rejected } = setUp(async (batch) => {
    if (isAway) {
      isAway = false;
      throw new Error("unreachable");
    }
    if (batch.includes(3)) throw badData();
    isAway = true;
  });
  add(1, 2, 3, 4);
  await writer.idle();
  assert.deepEqual([written, rejected], [[1, 2, 4], [3]]);
});

test("tries once more when it is closed, and keeps what could not be written", async () => {
  const { add, writer, written, queue, errors } = setUp(async () => {
    if (errors.length < 2) throw new Error("unreachable");
  });
  add(1, 2);
  await writer.close();
  assert.deepEqual([written, queue.items], [[], [1, 2]]);
});

test("written() waits for what was queued before, retries included, and not for later items", async () => {
  const gates: (() => void)[] = [];
  let failures = 1;
  const { add, writer, written } = setUp(async () => {
    await new Promise<void>((resolve) => gates.push(resolve));
    failures -= 1;
    if (failures >= 0) throw new Error("unreachable");
  });
  const openNext = async (): Promise<void> => {
    while (gates.length === 0) await new Promise(setImmediate);
    gates.shift()?.();
  };
  await writer.written();
  add(1);
  const first = writer.written();
  add(2);
  const second = writer.written();
  // Fails, and is repeated together with what was queued meanwhile.
  await openNext();
  await openNext();
  await Promise.all([first, second]);
  assert.deepEqual(written, [1, 2]);
  await writer.idle();
  add(3);
  const third = writer.written();
  add(4);
  await openNext();
  await third;
  assert.deepEqual(written, [1, 2, 3]);
  await openNext();
  await writer.idle();
});
