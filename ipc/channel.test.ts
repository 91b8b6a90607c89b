import assert from "node:assert/strict";
import { test } from "node:test";
import { Type } from "typebox";
import { Channel, type Message, type Port } from "./channel.ts";

type Out = { type: "detection"; index: number } | { type: "state" };

/** A port whose messages are written when `release` is called. */
function openPort() {
  const written: Message[] = [];
  const blocked: (() => void)[] = [];
  let receive = (_: unknown): void => {};
  const port: Port = {
    isOpen: true,
    send(message, done) {
      written.push(message as Message);
      blocked.push(done);
    },
    onMessage(listener) {
      receive = listener;
    },
    onClose() {},
  };
  const release = (): void => {
    while (blocked.length > 0) blocked.shift()?.();
  };
  return { port, written, release, receive: (message: unknown) => receive(message) };
}

const RECEIVES = Type.Object({ type: Type.Literal("ask"), id: Type.Integer() });

test("drops and counts the oldest droppable messages while the other end does not read, and nothing else", async () => {
  const { port, written, release, receive } = openPort();
  const channel = new Channel<Out, Message>(port, {
    peer: "the test",
    receives: RECEIVES,
    droppable: ["detection"],
    onRequest: async () => "answer",
    onInvalid: assert.fail,
  });
  channel.send({ type: "detection", index: 0 });
  channel.send({ type: "state" });
  for (let index = 1; index < 5000; index++) channel.send({ type: "detection", index });
  receive({ type: "ask", id: 7 });
  await new Promise((resolve) => setImmediate(resolve));
  assert.ok(written.length < 100, "everything was handed to a system that takes nothing");
  const idle = channel.idle();
  release();
  await idle;
  const indexes = written.flatMap((message) =>
    message.type === "detection" ? [Number((message as unknown as { index: number }).index)] : [],
  );
  assert.equal(channel.dropped + indexes.length, 5000);
  assert.ok(channel.dropped > 3000);
  assert.deepEqual(
    indexes,
    [...indexes].sort((a, b) => a - b),
  );
  assert.equal(indexes.at(-1), 4999);
  assert.deepEqual(
    written.filter(({ type }) => type !== "detection").map(({ type }) => type),
    ["state", "reply"],
  );
});

test("reports an invalid message, and replies to an invalid request", async () => {
  const { port, written, receive } = openPort();
  const faults: string[] = [];
  new Channel<Out, Message>(port, {
    peer: "the test",
    receives: RECEIVES,
    onRequest: async () => "answer",
    onInvalid: (fault) => faults.push(fault),
  });
  for (const message of [null, 5, "ask", {}, { type: "other" }, { type: "ask" }, { type: "reply", id: 1 }])
    receive(message);
  assert.equal(faults.length, 7);
  assert.match(faults[5] ?? "", /"ask": \/id is missing/);
  receive({ type: "other", id: 3 });
  await new Promise((resolve) => setImmediate(resolve));
  const [{ error }] = written as unknown as [{ error: { kind: string; detail: string } }];
  assert.deepEqual([written.length, error.kind], [1, "invalid"]);
});
