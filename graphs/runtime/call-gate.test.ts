import assert from "node:assert/strict";
import { test } from "node:test";
import { CallGate } from "./call-gate.ts";

const LONG_MS = 60_000;

test("calls run at once and synchronously while it is open", () => {
  assert.equal(
    new CallGate().run(() => 3),
    3,
  );
});

test("holding waits for pending calls, and later ones run in their order when it opens", async () => {
  const gate = new CallGate();
  const ran: string[] = [];
  let settle = (): void => {};
  const pending = gate.run(() => new Promise<void>((resolve) => (settle = resolve)));
  const held = gate.hold(LONG_MS).then(() => ran.push("held"));
  const later = [1, 2].map((number) => gate.run(() => ran.push(String(number))));
  await Promise.resolve();
  assert.deepEqual(ran, []);
  settle();
  await Promise.all([pending, held]);
  assert.deepEqual(ran, ["held"]);
  gate.open();
  await Promise.all(later);
  assert.deepEqual(ran, ["held", "1", "2"]);
});

test("holding is rejected when a call does not settle, and a rejected call does not count as pending", async () => {
  const gate = new CallGate();
  await assert.rejects(
    gate.run(() => Promise.reject(new Error("no"))),
    /no/,
  );
  await gate.hold(LONG_MS);
  gate.open();
  void gate.run(() => new Promise(() => {}));
  await assert.rejects(gate.hold(5), /frames in flight did not settle within 5 ms/);
  gate.open();
  assert.equal(
    gate.run(() => "open"),
    "open",
  );
});
