import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { FairSlots } from "./fair-slots.ts";

const never = new AbortController().signal;
const LONG_MS = 60_000;

test("a key has one slot at most, and another one is not behind all that it has queued", async () => {
  const slots = new FairSlots(2);
  const entered: string[] = [];
  const enter = async (key: string) => {
    const leave = await slots.acquire(key, never, LONG_MS);
    entered.push(key);
    return leave ?? assert.fail();
  };
  const greedy = ["a", "a", "a"].map(enter);
  const other = enter("b");
  const third = enter("c");
  await turn();
  assert.deepEqual(entered, ["a", "b"]);
  (await greedy[0])?.();
  await turn();
  assert.deepEqual(entered, ["a", "b", "c"], "c has had no turn yet");
  (await other)();
  (await other)();
  await turn();
  assert.deepEqual(entered, ["a", "b", "c", "a"]);
  (await third)();
  (await greedy[1])?.();
  (await greedy[2])?.();
  assert.deepEqual(entered, ["a", "b", "c", "a", "a"]);
});

test("who gives up gets none, and takes none from others", async () => {
  const slots = new FairSlots(1);
  const leave = await slots.acquire("a", never, LONG_MS);
  const impatient = new AbortController();
  const given = slots.acquire("b", impatient.signal, LONG_MS);
  const patient = slots.acquire("c", never, LONG_MS);
  impatient.abort();
  assert.equal(await given, null);
  assert.equal(await slots.acquire("d", impatient.signal, LONG_MS), null);
  leave?.();
  assert.notEqual(await patient, null);
});

test("who waits too long gets none", async () => {
  const slots = new FairSlots(1);
  const leave = await slots.acquire("a", never, LONG_MS);
  assert.equal(await slots.acquire("a", never, 10), null);
  leave?.();
  assert.notEqual(await slots.acquire("a", never, LONG_MS), null);
});
