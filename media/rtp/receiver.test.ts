import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { JitterBuffer } from "./receiver.ts";

const packet = (sequence: number, ssrc = 1) => ({
  marker: false,
  payloadType: 96,
  sequence: sequence & 0xffff,
  timestamp: 0,
  ssrc,
  payload: new Uint8Array(0),
});

function collect(limits: { maxPackets: number; waitMs: number }) {
  const out: string[] = [];
  const buffer = new JitterBuffer(limits, ({ sequence }, isAfterLoss) =>
    out.push(`${isAfterLoss ? "lost " : ""}${sequence}`),
  );
  return { buffer, out };
}

test("packets that overtake one another are put back, also where the numbers wrap", () => {
  const order = fc.shuffledSubarray([1, 2, 3, 4, 5, 6, 7, 8], { minLength: 8 });
  fc.assert(
    fc.property(order, fc.integer({ min: 0, max: 0xffff }), (places, first) => {
      const { buffer, out } = collect({ maxPackets: 100, waitMs: 50 });
      buffer.push(packet(first), 0);
      for (const place of places) buffer.push(packet(first + place), 0);
      assert.deepEqual(
        out,
        [0, 1, 2, 3, 4, 5, 6, 7, 8].map((place) => String((first + place) & 0xffff)),
      );
      assert.equal(buffer.lost, 0);
      assert.equal(buffer.deadlineMs, null);
    }),
  );
});

test("waits for a missing packet up to the limit, then counts it as lost", () => {
  const { buffer, out } = collect({ maxPackets: 100, waitMs: 50 });
  for (const sequence of [1, 3, 4]) buffer.push(packet(sequence), 1000);
  assert.equal(buffer.deadlineMs, 1050);
  buffer.flush(1049);
  assert.deepEqual(out, ["1"]);
  buffer.flush(1050);
  assert.deepEqual(out, ["1", "lost 3", "4"]);
  assert.equal(buffer.lost, 1);
  buffer.push(packet(2), 1051);
  assert.deepEqual(out, ["1", "lost 3", "4"]);
});

test("no more than the limit wait behind a gap", () => {
  const { buffer, out } = collect({ maxPackets: 3, waitMs: 1e9 });
  for (const sequence of [1, 3, 4, 5]) buffer.push(packet(sequence), 0);
  assert.deepEqual(out, ["1", "lost 3", "4", "5"]);
});

test("passes a duplicate packet once", () => {
  const { buffer, out } = collect({ maxPackets: 9, waitMs: 50 });
  for (const sequence of [1, 1, 3, 3, 2, 2]) buffer.push(packet(sequence), 0);
  assert.deepEqual(out, ["1", "2", "3"]);
});

test("follows a restarted sender immediately", () => {
  const { buffer, out } = collect({ maxPackets: 9, waitMs: 50 });
  buffer.push(packet(1), 0);
  buffer.push(packet(30_000), 0);
  buffer.push(packet(30_001), 0);
  buffer.push(packet(7, 2), 0);
  assert.deepEqual(out, ["1", "lost 30000", "30001", "lost 7"]);
  assert.equal(buffer.ssrc, 2);
});

test("over TCP, numbers that stand still or go back lose nothing", () => {
  const { buffer, out } = collect({ maxPackets: 1, waitMs: 0 });
  for (const sequence of [7, 7, 7, 5, 6, 9]) buffer.push(packet(sequence), 0);
  assert.deepEqual(out, ["7", "7", "7", "5", "6", "lost 9"]);
});
