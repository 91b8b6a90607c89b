import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import {
  anyMessages,
  assertStored,
  messageAt,
  PROCESS,
  recordedMessages,
  SOURCE,
  START_MS,
  trackOf,
} from "./detections.fixture.ts";
import { LineWriter } from "./message-lines.ts";
import { MAX_NUMBER, readNumbers, writeNumber } from "./numbers.ts";
import { LineFault } from "./object-reader.ts";
import { LineReader } from "./read-lines.ts";

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

test("messages of real clips are read with their numbers rounded as documented", () => {
  for (const name of ["vtest", "street"] as const) {
    const messages = recordedMessages(name);
    assert.ok(messages.length > 50);
    const text = write(messages);
    assert.equal(text.includes("timestamp"), false, "each as a short line");
    const found = read(text);
    assertStored(found, messages);
    assert.ok(text.length * 8 < JSON.stringify(messages).length, `${text.length} characters`);
    // What was rounded once stays as it is.
    assert.deepEqual(read(write(found)), found);
  }
});

test("any message is read as it was written, also what no element sends", () => {
  fc.assert(
    fc.property(anyMessages, (messages) => {
      const copies = read(write(messages));
      assertStored(copies, messages);
      // In the same order of keys, for clients that compare texts.
      const whole = (message: DetectionMessage | undefined) =>
        message?.active_tracks.map((track) => Object.keys(track).join());
      assert.deepEqual(copies.map(whole), messages.map(whole));
    }),
    { numRuns: 300 },
  );
});

test("integers are written as base64 VLQ", () => {
  const known: readonly [number, string][] = [
    ...([
      [0, "A"],
      [1, "C"],
      [-1, "D"],
      [15, "e"],
      [-15, "f"],
      [16, "gB"],
      [123, "2H"],
    ] as [number, string][]),
    [123456789, "qxmvrH"],
  ];
  for (const [number, text] of known) {
    assert.equal(writeNumber(number), text);
    assert.deepEqual(readNumbers(text), [number]);
  }
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -MAX_NUMBER, max: MAX_NUMBER })), (numbers) => {
      assert.deepEqual(
        readNumbers(numbers.map(writeNumber).join("")),
        numbers.map((number) => number + 0),
      );
    }),
  );
  for (const text of ["g", "A-", "Ag", "=", "gggggggggggggggg", "ä"]) assert.equal(readNumbers(text), null, text);
});

test("an object that moves little takes few characters", () => {
  const box = (x: number) => [x, 0.25, 0.125, 0.25] as const;
  const first = messageAt(START_MS, [trackOf(7, box(0.5))]);
  const text = write([first, messageAt(START_MS + 100, [trackOf(7, box(0.501))]), messageAt(START_MS + 200)]);
  assert.deepEqual(text.split("\n").slice(1), [
    '{"width":1280,"height":720,"classes":[[0,"person"]]}',
    '[0,"s2Bw4Jo8EkuCo8E","OAA"]',
    '[100,"AUAAA"]',
    '[100,"",""]',
    "",
  ]);
});

test("a change of the resolution, and a class that a rejected message has introduced, reach the reader", () => {
  const small = trackOf(1, [0.1, 0.2, 0.3, 0.4], { width: 640, height: 360 });
  const bus = trackOf(2, [0.1, 0.2, 0.3, 0.4], { classId: 5, className: "bus" });
  const odd = { ...bus, shape: "long" } as typeof bus;
  const messages = [trackOf(1, [0.1, 0.2, 0.3, 0.4]), small, odd, bus].map((track, at) =>
    messageAt(START_MS + at, [track]),
  );
  const text = write(messages);
  assert.match(text, /"width":640/);
  assertStored(read(text), messages);
});

test("lines of version 1 are read as they were sent, to the letter", () => {
  const text = readFileSync(new URL("version-1.ndjson", import.meta.url), "utf8");
  assert.match(text, /^\{"version":1,/);
  const found = read(text);
  const geographic = {
    ...trackOf(9, [0.4, 0.4, 0.1, 0.2]),
    ...{
      latitude: 52.1234567,
      longitude: 13.7654321,
      altitude: 31.25,
      distance: 118.4,
      azimuth: -12.345,
      elevation: -3.21,
    },
    ...{ distance_estimated: true as const, position_error_m: 2.75, speed_mps: 1.31, heading: 271.125 },
  };
  const later = { ...geographic, latitude: 52.1234599, heading: 272.5 };
  const expected = [
    ...recordedMessages("street").slice(0, 12),
    { ...messageAt(START_MS + 60_000, [geographic]), telemetry_age_ms: 40 },
    { ...messageAt(START_MS + 60_100, [later, trackOf(0, [0.2, 0.3, 0.1, 0.1])]), telemetry_age_ms: 140 },
    messageAt(START_MS + 60_200),
  ];
  assert.deepEqual(found, expected);
});

test("lines of another version, and what is not a line, are rejected", () => {
  for (const line of ['{"version":3}', '{"version":"constructor"}', "[1,[]]", '{"width":1}', "7", "[1,", "null"]) {
    assert.throws(() => new LineReader().read(line), LineFault, line);
  }
  const header = new LineWriter(OPTIONS, START_MS, null).header.trim();
  for (const line of ['[1,"A"]', '[1,"?",""]', '[1,"AAAAA","AA"]', '[1,"AAAAA","AAA"]', "[1,[]]", '[1,"","AAD"]']) {
    const reader = new LineReader();
    reader.read(header);
    assert.throws(() => reader.read(line), LineFault, line);
  }
});
