import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MediaError } from "../access-unit.ts";
import { readAudioConfig } from "./config.ts";

const read = (text: string) => readAudioConfig(Buffer.from(text, "hex"));

test("reads rate and channels, by index and explicit", () => {
  assert.deepEqual(read("1190"), { sampleRate: 48_000, channels: 2 });
  assert.deepEqual(read("1208"), { sampleRate: 44_100, channels: 1 });
  assert.deepEqual(read("121056e500"), { sampleRate: 44_100, channels: 2 });
  // An index of 15: the rate follows, here 37,800.
  assert.deepEqual(read("1780" + "49d410"), { sampleRate: 37_800, channels: 2 });
});

test("rejects other codecs, truncated and invalid configurations", () => {
  for (const text of ["", "11", "0000", "f800", "1690", "1780", "11f8", "1780000010"])
    assert.throws(() => read(text), MediaError, text);
});

test("any bytes are a configuration or a `MediaError`", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 12 }), (bytes) => {
      try {
        const { sampleRate, channels } = readAudioConfig(bytes);
        assert.ok(sampleRate >= 1000 && channels >= 1 && channels <= 8);
      } catch (error) {
        assert.ok(error instanceof MediaError);
      }
    }),
    { numRuns: 1000 },
  );
});
