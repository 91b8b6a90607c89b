import assert from "node:assert/strict";
import test from "node:test";
import { Inbox } from "./inbox.ts";

async function readAll<T>(inbox: Inbox<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of inbox.read()) items.push(item);
  return items;
}

test("what was put in before the close is read, then the reader ends", async () => {
  const inbox = new Inbox<number>(10);
  inbox.put(1);
  const reading = readAll(inbox);
  await Promise.resolve();
  inbox.put(2);
  setImmediate(() => {
    inbox.put(3);
    inbox.close();
  });
  assert.deepEqual(await reading, [1, 2, 3]);
});

test("beyond the limit the oldest go", async () => {
  const inbox = new Inbox<number>(3);
  for (let item = 0; item < 10; item += 1) inbox.put(item);
  inbox.close();
  assert.deepEqual(await readAll(inbox), [7, 8, 9]);
});

test("what is vital is never lost to what is not", async () => {
  const inbox = new Inbox<string>(3, (item) => item === "error" || item === "eos");
  for (const item of ["a", "error", "b", "eos", "c", "d", "e"]) inbox.put(item);
  inbox.close();
  assert.deepEqual(await readAll(inbox), ["error", "eos", "e"]);
});

test("a flood of vital items is bounded, and the first of them stay", async () => {
  const inbox = new Inbox<number>(3, () => true);
  for (let item = 0; item < 10; item += 1) inbox.put(item);
  inbox.close();
  assert.deepEqual(await readAll(inbox), [0, 1, 2]);
});
