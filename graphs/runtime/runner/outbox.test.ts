import assert from "node:assert/strict";
import { test } from "node:test";
import type { RunnerMessage } from "../../../schemas/runner.ts";
import { Outbox } from "./outbox.ts";

const detection = (index: number): RunnerMessage => ({ type: "message", channel: "x", message: { index } });
const indexOf = (message: RunnerMessage): number => (message.type === "message" ? Number(message.message.index) : -1);

test("drops and counts the oldest messages of a blocked reader, but never a state or a reply", async () => {
  const written: RunnerMessage[] = [];
  const blocked: (() => void)[] = [];
  const outbox = new Outbox((message, done) => {
    written.push(message);
    blocked.push(done);
  });
  const before = written.length;
  outbox.put(detection(0));
  outbox.put({ type: "state", state: "running", failure: null });
  for (let index = 1; index < 5000; index++) outbox.put(detection(index));
  outbox.put({ type: "reply", id: 7, error: null, result: null });
  assert.ok(written.length - before < 100, "everything was handed to a system that takes nothing");
  const drained = outbox.empty();
  while (blocked.length > 0) blocked.shift()?.();
  await drained;
  const indexes = written.map(indexOf).filter((index) => index >= 0);
  assert.equal(outbox.dropped + indexes.length, 5000);
  assert.ok(outbox.dropped > 3000);
  assert.deepEqual(
    indexes,
    [...indexes].sort((a, b) => a - b),
  );
  assert.equal(indexes.at(-1), 4999);
  assert.deepEqual(
    written.filter(({ type }) => type !== "message").map(({ type }) => type),
    ["state", "reply"],
  );
});

test("writes everything without a delay, and is empty at once without messages", async () => {
  const written: number[] = [];
  const outbox = new Outbox((message, done) => {
    written.push(indexOf(message));
    queueMicrotask(done);
  });
  for (let index = 0; index < 300; index++) outbox.put(detection(index));
  await outbox.empty();
  assert.deepEqual(
    written,
    Array.from({ length: 300 }, (_, index) => index),
  );
  assert.equal(outbox.dropped, 0);
  await outbox.empty();
});
