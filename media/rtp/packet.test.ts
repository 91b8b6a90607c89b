import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { RTP_HEADER_BYTES, readRtp, sequenceStep, timestampStep, writeRtpHeader } from "./packet.ts";

test("a header that is written is read as it was", () => {
  const header = fc.record({
    marker: fc.boolean(),
    payloadType: fc.integer({ min: 0, max: 127 }),
    sequence: fc.integer({ min: 0, max: 0xffff }),
    timestamp: fc.integer({ min: 0, max: 0xffffffff }),
    ssrc: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
  });
  fc.assert(
    fc.property(header, fc.uint8Array(), (given, payload) => {
      const bytes = Buffer.alloc(RTP_HEADER_BYTES + payload.length);
      writeRtpHeader(bytes, 0, given);
      bytes.set(payload, RTP_HEADER_BYTES);
      const { payload: read, ...rest } = readRtp(bytes) ?? assert.fail("it was not read");
      assert.deepEqual(rest, { ...given, timestamp: given.timestamp | 0 });
      assert.deepEqual(Buffer.from(read), Buffer.from(payload));
    }),
  );
});

test("contributors, extensions and padding are left out", () => {
  const bytes = Buffer.from([
    0xb1, 96, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 9, 9, 9, 9, 0, 0, 0, 1, 8, 8, 8, 8, 0x65, 7, 0, 2,
  ]);
  assert.deepEqual([...(readRtp(bytes)?.payload ?? [])], [0x65, 7]);
});

test("any bytes are a packet or null, and never throw", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      const packet = readRtp(bytes);
      assert.ok(packet === null || packet.payload.length <= bytes.length - RTP_HEADER_BYTES);
    }),
  );
});

test("numbers that wrap are still one after the other", () => {
  assert.equal(sequenceStep(0xffff, 0), 1);
  assert.equal(sequenceStep(0, 0xffff), -1);
  assert.equal(timestampStep(0xffffffff, 2), 3);
  assert.equal(timestampStep(2, 0xffffffff), -3);
});
