import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { MediaError } from "../access-unit.ts";
import { BitWriter } from "./bit-writer.fixture.ts";
import { codecName, readAvcConfig, readSps, writeAvcConfig } from "./sps.ts";

const hex = (text: string): Uint8Array => Buffer.from(text, "hex");

/** Made by x264. */
const MADE = [
  ["Baseline", "6742c00dd90141fb011000000300100000030320f142a480", 320, 240, 0, "avc1.42c00d"],
  ["Main, two B-frames", "674d4028eca03c0113f2e022000003000200000300641e30632c", 1920, 1080, 2, "avc1.4d4028"],
  ["High, odd width", "6764001eacd940d83de6f011000003000100000300320f162d96", 854, 480, 2, "avc1.64001e"],
  [
    "High, interlaced and cropped",
    "67640028acd94078044fde0220000003002000000643e2c5b2c0",
    1920,
    1080,
    2,
    "avc1.640028",
  ],
  [
    "High with HRD",
    "6764001eacd940a02ff9301100000300010000030032604000f424001e84a4c30078b16cb0",
    640,
    362,
    2,
    "avc1.64001e",
  ],
  ["High without chroma", "6764000df36505421e3e3f016c800000030080000019078a14cb", 322, 242, 2, "avc1.64000d"],
  ["High 4:2:2, 10 bits", "677a000db6cd9415087888fc0440000003004000000c83c50a6580", 322, 242, 2, "avc1.7a000d"],
  ["High 4:4:4", "67f4000d919b282a10f1f1f808800000030080000019078a14cb", 322, 242, 2, "avc1.f4000d"],
  ["High 10 Intra, 4K", "676e1033a6cb80780087d80880000003008000001902", 3840, 2160, 0, "avc1.6e1033"],
] as const;

for (const [name, text, width, height, reorderFrames, codec] of MADE) {
  test(`${name}: size, order and name are read`, () => {
    const sps = readSps(hex(text));
    assert.deepEqual([sps.width, sps.height, sps.reorderFrames], [width, height, reorderFrames]);
    assert.equal(codecName(hex(text)), codec);
  });
}

interface Made {
  readonly profile?: number;
  readonly constraints?: number;
  readonly scaling?: boolean;
  readonly orderType?: number;
  readonly crop?: readonly [number, number, number, number];
  readonly isFrames?: boolean;
  readonly vui?: (writer: BitWriter) => void;
  readonly columns?: number;
}

function make({
  profile = 100,
  constraints = 0,
  orderType = 0,
  isFrames = true,
  columns = 40,
  ...more
}: Made): Uint8Array {
  const writer = new BitWriter().bits(profile, 8).bits(constraints, 8).bits(31, 8).ue(0);
  if (profile === 100) {
    writer
      .ue(1)
      .ue(0)
      .ue(0)
      .bits(0, 1)
      .bits(more.scaling ? 1 : 0, 1);
    // Lists of every kind: absent, the default one (a jump to 0 at once), a short one and a full one.
    if (more.scaling) {
      writer.bits(0, 1).bits(1, 1).se(-8).bits(1, 1).se(8).se(-16);
      writer.bits(1, 1);
      for (let i = 0; i < 16; i++) writer.se(1);
      writer.bits(0, 2).bits(1, 1);
      for (let i = 0; i < 64; i++) writer.se(i % 2 === 0 ? 3 : -3);
      writer.bits(0, 1);
    }
  }
  writer.ue(0).ue(orderType);
  if (orderType === 0) writer.ue(2);
  if (orderType === 1) {
    writer.bits(0, 1).se(-1).se(2).ue(3).se(1).se(-1).se(0);
  }
  writer
    .ue(2)
    .bits(0, 1)
    .ue(columns - 1)
    .ue(isFrames ? 22 : 11)
    .bits(isFrames ? 1 : 0, 1);
  if (!isFrames) writer.bits(1, 1);
  writer.bits(1, 1).bits(more.crop ? 1 : 0, 1);
  for (const side of more.crop ?? []) writer.ue(side);
  writer.bits(more.vui ? 1 : 0, 1);
  more.vui?.(writer);
  return writer.nal(0x67);
}

/** Every part of a VUI is there. */
const fullVui = (writer: BitWriter): void => {
  writer.bits(1, 1).bits(255, 8).bits(4, 16).bits(3, 16).bits(1, 1).bits(0, 1);
  writer.bits(1, 1).bits(5, 3).bits(0, 1).bits(1, 1).bits(0x010101, 24);
  writer.bits(1, 1).ue(0).ue(0).bits(1, 1).bits(1001, 32).bits(60_000, 32).bits(1, 1);
  for (let i = 0; i < 2; i++)
    writer.bits(1, 1).ue(1).bits(0, 8).ue(99).ue(99).bits(0, 1).ue(9).ue(9).bits(1, 1).bits(0, 20);
  writer.bits(0, 1).bits(1, 1).bits(1, 1).bits(1, 1).ue(0).ue(0).ue(10).ue(10).ue(3).ue(4);
};

test("scaling lists of every kind are passed over", () => {
  const { width, height } = readSps(make({ scaling: true, crop: [0, 0, 0, 4] }));
  assert.deepEqual([width, height], [640, 360]);
});

test("an interlaced picture is cropped in steps of four rows", () => {
  const { width, height } = readSps(make({ isFrames: false, crop: [1, 2, 0, 1] }));
  assert.deepEqual([width, height], [640 - 6, 384 - 4]);
});

test("reads the reorder depth at the end of a full VUI", () => {
  assert.equal(readSps(make({ vui: fullVui })).reorderFrames, 3);
});

test("infers the reorder depth from profile or order type, or leaves it unknown", () => {
  assert.equal(readSps(make({})).reorderFrames, null);
  assert.equal(readSps(make({ profile: 77 })).reorderFrames, null);
  assert.equal(readSps(make({ profile: 66 })).reorderFrames, 0);
  assert.equal(readSps(make({ orderType: 2 })).reorderFrames, 0);
  assert.equal(readSps(make({ orderType: 1 })).reorderFrames, null);
  assert.equal(readSps(make({ constraints: 0x10 })).reorderFrames, 0);
});

test("ignores a truncated VUI", () => {
  const whole = make({ profile: 77, vui: fullVui });
  for (let end = 12; end < whole.length; end++) {
    const { width, reorderFrames } = readSps(whole.subarray(0, end));
    assert.equal(width, 640);
    assert.ok(reorderFrames === null || reorderFrames <= 3);
  }
});

test("rejects oversized, fully cropped and invalid pictures with a reason", () => {
  assert.throws(() => readSps(make({ columns: 1025 })), /the SPS contains 1024 where at most 1023/);
  assert.throws(() => readSps(make({ crop: [160, 160, 0, 0] })), /crops the whole picture/);
  assert.throws(() => readSps(hex("67640028")), /the SPS is truncated/);
  assert.throws(() => readSps(hex("68ce")), /expected an SPS, received a NAL unit of type 8/);
  assert.throws(() => readSps(hex("")), MediaError);
});

test("any bytes are an SPS or a `MediaError`, in bounded time", () => {
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 300 }).map((tail) => Buffer.concat([hex("67"), tail])),
    fc.tuple(fc.constantFrom(...MADE.map(([, text]) => text)), fc.nat(), fc.nat(255)).map(([text, at, byte]) => {
      const damaged = Buffer.from(hex(text));
      damaged[1 + (at % (damaged.length - 1))] = byte;
      return damaged;
    }),
  );
  fc.assert(
    fc.property(bytes, (sps) => {
      try {
        const { width, height } = readSps(sps);
        assert.ok(width > 0 && width <= 16_384 && height > 0 && height <= 32_768);
      } catch (error) {
        assert.ok(error instanceof MediaError, String(error));
      }
    }),
    { numRuns: 1000 },
  );
});

const BASELINE = hex("6742c00dd90141fb011000000300100000030320f142a480");
const HIGH_10 = hex("676e1033a6cb80780087d80880000003008000001902");
const PPS = hex("68cb83cb20");

test("reads back what was written", () => {
  for (const sps of [BASELINE, HIGH_10]) {
    const { parameterSets, lengthSize } = readAvcConfig(writeAvcConfig(sps, PPS));
    assert.deepEqual([parameterSets.map((set) => Buffer.from(set)), lengthSize], [[sps, PPS], 4]);
  }
});

test("writes chroma and depth for High profiles only", () => {
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

test("rejects truncated, empty and other configurations", () => {
  const whole = writeAvcConfig(BASELINE, PPS);
  for (let end = 0; end < whole.length; end++) assert.throws(() => readAvcConfig(whole.subarray(0, end)), MediaError);
  assert.throws(() => readAvcConfig(hex("0142c00dffe000")), /no SPS or no PPS/);
  assert.throws(() => readAvcConfig(hex("0042c00dffe000")), /version 1/);
  assert.throws(() => readAvcConfig(hex("0142c00dfee000")), /length of 3 bytes/);
});

test("any bytes are a configuration or a `MediaError`", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 80 }), fc.boolean(), (bytes, isLikely) => {
      if (isLikely && bytes.length > 0) bytes[0] = 1;
      try {
        readAvcConfig(bytes);
      } catch (error) {
        assert.ok(error instanceof MediaError);
      }
    }),
    { numRuns: 1000 },
  );
});
