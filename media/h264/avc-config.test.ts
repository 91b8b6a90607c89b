import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MediaFault } from "../fault.ts";
import { readAvcConfig, writeAvcConfig } from "./avc-config.ts";

const hex = (text: string): Uint8Array => Buffer.from(text, "hex");
const BASELINE = hex("6742c00dd90141fb011000000300100000030320f142a480");
const HIGH_10 = hex("676e1033a6cb80780087d80880000003008000001902");
const PPS = hex("68cb83cb20");

test("what is written is read again", () => {
  for (const sps of [BASELINE, HIGH_10]) {
    const { sps: readSps, pps, lengthSize, parameterSets } = readAvcConfig(writeAvcConfig(sps, PPS));
    assert.deepEqual([Buffer.from(readSps), Buffer.from(pps), lengthSize], [sps, PPS, 4]);
    assert.equal(parameterSets.length, 2);
  }
});

test("profiles from High on tell of chroma and depth, older ones do not", () => {
  assert.equal(Buffer.from(writeAvcConfig(HIGH_10, PPS)).subarray(-4).toString("hex"), "fdfafa00");
  assert.equal(Buffer.from(writeAvcConfig(BASELINE, PPS)).subarray(-5).toString("hex"), "68cb83cb20");
});

test("several parameter sets are all there", () => {
  const config = Buffer.concat([
    hex("0142c00dffe1"),
    hex("0018"),
    BASELINE,
    hex("02"),
    hex("0005"),
    PPS,
    hex("0002"),
    hex("6842"),
  ]);
  assert.equal(readAvcConfig(config).parameterSets.length, 3);
});

test("a configuration that is cut off, empty, or of another kind is a fault", () => {
  const whole = writeAvcConfig(BASELINE, PPS);
  for (let end = 0; end < whole.length; end++) assert.throws(() => readAvcConfig(whole.subarray(0, end)), MediaFault);
  assert.throws(() => readAvcConfig(hex("0142c00dffe000")), /no SPS or no PPS/);
  assert.throws(() => readAvcConfig(hex("0042c00dffe000")), /version 1/);
  assert.throws(() => readAvcConfig(hex("0142c00dfee000")), /lengths of 3 bytes/);
});

test("bytes of any kind are a configuration or a fault", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.boolean(), (bytes, isLikely) => {
      if (isLikely && bytes.length > 0) bytes[0] = 1;
      try {
        readAvcConfig(bytes);
      } catch (error) {
        assert.ok(error instanceof MediaFault);
      }
    }),
    { numRuns: 1000 },
  );
});
