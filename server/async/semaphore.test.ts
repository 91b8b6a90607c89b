import assert from "node:assert/strict";
import { test } from "node:test";
import { Semaphore } from "./semaphore.ts";

const never = new AbortController().signal;

test("no more are in than there are slots, and all come in in the end", async () => {
  const slots = new Semaphore(2);
  let inside = 0;
  let most = 0;
  await Promise.all(
    Array.from({ length: 9 }, async () => {
      const leave = await slots.acquire(never);
      most = Math.max(most, ++inside);
      await new Promise((resolve) => setImmediate(resolve));
      inside--;
      leave();
      leave();
    }),
  );
  assert.deepEqual([most, inside], [2, 0]);
});

test("a waiter that is aborted continues without a slot, and takes none from others", async () => {
  const slots = new Semaphore(1);
  const leave = await slots.acquire(never);
  const impatient = new AbortController();
  const given = slots.acquire(impatient.signal);
  const patient = slots.acquire(never);
  impatient.abort();
  (await given)();
  leave();
  (await patient)();
  (await slots.acquire(never))();
});

test("who is urgent comes before those who waited longer", async () => {
  const slots = new Semaphore(1);
  const leave = await slots.acquire(never);
  const order: string[] = [];
  const enter = async (name: string, isUrgent: boolean): Promise<void> => {
    const leaveAgain = await slots.acquire(never, isUrgent);
    order.push(name);
    leaveAgain();
  };
  const all = [enter("first", false), enter("second", false), enter("urgent", true)];
  leave();
  await Promise.all(all);
  assert.deepEqual(order, ["urgent", "first", "second"]);
});
