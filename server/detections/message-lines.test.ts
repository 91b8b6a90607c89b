import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { anyMessages, messageAt, PROCESS, recordedMessages, SOURCE, START_MS, trackOf } from "./detections.fixture.ts";
import { LineFault, LineReader, LineWriter } from "./message-lines.ts";

const OPTIONS = { process: PROCESS, source: SOURCE, videoStartMs: null };

function write(messages: readonly DetectionMessage[]): string {
  const writer = new LineWriter(OPTIONS, START_MS, null);
  return writer.header + messages.map((message) => writer.write(message, Date.parse(message.timestamp))).join("");
}

function read(text: string): DetectionMessage[] {
  const reader = new LineReader();
  const lines = text.split("\n").slice(0, -1);
  return lines.flatMap((line) => reader.read(line)?.message ?? []);
}

test("messages of real clips are read as they were written, to the letter", () => {
  for (const name of ["vtest", "street"] as const) {
    const messages = recordedMessages(name);
    assert.ok(messages.length > 50);
    const text = write(messages);
    assert.equal(text.includes("timestamp"), false, "each as a short line");
    assert.deepEqual(read(text), messages);
    assert.ok(text.length * 4 < JSON.stringify(messages).length, `${text.length} characters`);
  }
});

test("any message is read as it was written, also what no element sends", () => {
  fc.assert(
    fc.property(anyMessages, (messages) => {
      const copies = read(write(messages));
      assert.deepEqual(copies, messages);
      // In the same order of keys, for clients that compare texts.
      const whole = (message: DetectionMessage | undefined) =>
        message?.active_tracks.map((track) => Object.keys(track).join());
      assert.deepEqual(copies.map(whole), messages.map(whole));
    }),
    { numRuns: 300 },
  );
});

test("an object that moves little takes few characters", () => {
  const box = (x: number) => [x, 0.25, 0.125, 0.25] as const;
  const first = messageAt(START_MS, [trackOf(7, box(0.5))]);
  const text = write([first, messageAt(START_MS + 100, [trackOf(7, box(0.501))]), messageAt(START_MS + 200)]);
  assert.deepEqual(text.split("\n").slice(1), [
    '{"width":1280,"height":720,"classes":[[0,"person"]]}',
    "[0,[[7,0,8700,500000,250000,125000,250000]]]",
    "[100,[[7,0,0,1000]]]",
    "[100,[]]",
    "",
  ]);
});

test("a change of the resolution, and a class that a rejected message has introduced, reach the reader", () => {
  const small = trackOf(1, [0.1, 0.2, 0.3, 0.4], { width: 640, height: 360 });
  const odd = { ...trackOf(2, [0.1, 0.2, 0.3, 0.4], { classId: 5, className: "bus" }), confidence: 1 / 3 };
  const bus = trackOf(2, [0.1, 0.2, 0.3, 0.4], { classId: 5, className: "bus" });
  const messages = [trackOf(1, [0.1, 0.2, 0.3, 0.4]), small, odd, bus].map((track, at) =>
    messageAt(START_MS + at, [track]),
  );
  const text = write(messages);
  assert.match(text, /"width":640/);
  assert.deepEqual(read(text), messages);
});

test("lines of another version, and what is not a line, are rejected", () => {
  for (const line of ['{"version":2}', "[1,[]]", '{"width":1}', "7", "[1,", "null"]) {
    assert.throws(() => new LineReader().read(line), LineFault, line);
  }
});
