import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { MediaError } from "../access-unit.ts";
import { CODECS, describeTrack, findSets } from "../codecs.ts";
import { BitWriter } from "../h264/bit-writer.fixture.ts";
import { splitStartCodes } from "../h264/nal.ts";
import { withFolder } from "../mp4/decode.fixture.ts";
import { readPpsId } from "./nal.ts";
import { codecName, readHevcConfig, readSet, readSps, writeHevcConfig } from "./sps.ts";

const { h265 } = CODECS;

interface Made {
  readonly vpsId?: number;
  readonly id?: number;
  readonly space?: number;
  readonly tier?: number;
  readonly profile?: number;
  readonly compatibility?: number;
  readonly constraints?: number;
  readonly level?: number;
  readonly chroma?: number;
  readonly size?: readonly [number, number];
  readonly crop?: readonly [number, number, number, number];
  readonly depths?: readonly [number, number];
  /** Of every sub-layer: whether its profile and its level are stated. */
  readonly subLayers?: readonly (readonly [boolean, boolean])[];
  /** Reordered pictures of every sub-layer; of the highest alone if there is one number. */
  readonly reorder?: readonly number[];
}

const nal = (type: number, writer: BitWriter): Uint8Array => {
  const [, ...rest] = writer.nal(0);
  return Uint8Array.from([type << 1, 1, ...rest]);
};

function makeSps(made: Made = {}): Uint8Array {
  const { vpsId = 0, id = 0, space = 0, tier = 0, profile = 1, compatibility = 0x60000000, level = 93 } = made;
  const { constraints = 0x900000000000, chroma = 1, size = [320, 240], depths = [8, 8], subLayers = [] } = made;
  const { crop, reorder = [0] } = made;
  const writer = new BitWriter().bits(vpsId, 4).bits(subLayers.length, 3).bits(1, 1);
  writer.bits(space, 2).bits(tier, 1).bits(profile, 5).bits(compatibility, 32).bits(constraints, 48).bits(level, 8);
  for (const [hasProfile, hasLevel] of subLayers) writer.bits(hasProfile ? 1 : 0, 1).bits(hasLevel ? 1 : 0, 1);
  if (subLayers.length > 0) writer.bits(0, 2 * (8 - subLayers.length));
  for (const [hasProfile, hasLevel] of subLayers) {
    if (hasProfile) writer.bits(0xaa, 8).bits(0, 40).bits(0, 40);
    if (hasLevel) writer.bits(60, 8);
  }
  writer.ue(id).ue(chroma);
  if (chroma === 3) writer.bits(0, 1);
  writer
    .ue(size[0])
    .ue(size[1])
    .bits(crop === undefined ? 0 : 1, 1);
  for (const side of crop ?? []) writer.ue(side);
  writer
    .ue(depths[0] - 8)
    .ue(depths[1] - 8)
    .ue(4)
    .bits(reorder.length > 1 ? 1 : 0, 1);
  for (const pictures of reorder) writer.ue(4).ue(pictures).ue(0);
  return nal(33, writer);
}

const VPS = nal(32, new BitWriter().bits(0, 4).bits(0xfff, 12));
const PPS = nal(34, new BitWriter().ue(0).ue(0).bits(0, 8));

const THREE = [
  [true, true],
  [false, true],
  [true, false],
] as const;

test("reads size, depth, order and ids", () => {
  const rows: [Made, Partial<ReturnType<typeof readSps>>][] = [
    [{}, { width: 320, height: 240, reorderFrames: 0, level: 93, profile: 1, subLayers: 1, isHighTier: false }],
    [
      { size: [1920, 1088], crop: [0, 0, 0, 4] },
      { width: 1920, height: 1080 },
    ],
    [
      { size: [322, 242], chroma: 0, crop: [1, 1, 1, 1] },
      { width: 320, height: 240 },
    ],
    [
      { size: [322, 242], chroma: 2, crop: [1, 0, 1, 1] },
      { width: 320, height: 240 },
    ],
    [
      { size: [322, 242], chroma: 3, crop: [1, 1, 1, 1] },
      { width: 320, height: 240 },
    ],
    [
      { profile: 2, depths: [10, 12] },
      { profile: 2, depthLuma: 10, depthChroma: 12 },
    ],
    [{ reorder: [2] }, { reorderFrames: 2 }],
    [
      { vpsId: 3, id: 5 },
      { vpsId: 3, id: 5 },
    ],
    [
      { subLayers: THREE, reorder: [0, 1, 1, 3], size: [640, 360] },
      { subLayers: 4, reorderFrames: 3, width: 640 },
    ],
    [
      { subLayers: [[true, true]], reorder: [1], size: [640, 360] },
      { subLayers: 2, reorderFrames: 1, height: 360 },
    ],
  ];
  for (const [made, expected] of rows) {
    const read = readSps(makeSps(made));
    assert.deepEqual({ ...read, ...expected }, read, JSON.stringify(made));
  }
});

test("names the codec by profile, compatibility, tier, level and constraints", () => {
  for (const [made, name] of [
    [{}, "hvc1.1.6.L93.90"],
    [{ profile: 2, compatibility: 0x20000000, level: 150, tier: 1, constraints: 0xb00000000000 }, "hvc1.2.4.H150.B0"],
    [{ profile: 4, compatibility: 0x08000000, constraints: 0x9c0800000000 }, "hvc1.4.10.L93.9C.8"],
    [{ space: 1, constraints: 0 }, "hvc1.A1.6.L93"],
    [{ constraints: 0x900000000001 }, "hvc1.1.6.L93.90.0.0.0.0.1"],
  ] as const)
    assert.equal(codecName(makeSps(made)), name);
});

test("rejects what is not a valid SPS, with the reason", () => {
  const spoilt: [Uint8Array, RegExp][] = [
    [VPS, /expected an SPS, received a NAL unit of type 32/],
    [new Uint8Array(0), /expected an SPS/],
    [makeSps().subarray(0, 12), /the SPS is truncated/],
    [makeSps({ size: [40_000, 240] }), /contains 40000 where at most 16888 is allowed/],
    [makeSps({ size: [16, 16], crop: [4, 4, 0, 0] }), /crops the whole picture/],
    [makeSps({ chroma: 7 }), /contains 7 where at most 3/],
    [makeSps({ id: 16 }), /contains 16 where at most 15/],
    [makeSps({ reorder: [17] }), /contains 17 where at most 16/],
  ];
  for (const [set, reason] of spoilt) assert.throws(() => readSps(set), { constructor: MediaError, message: reason });
  const [first = 0, second = 0, ...rest] = makeSps();
  assert.throws(
    () => readSps(Uint8Array.from([first, second, 0x0e | (rest[0] ?? 0), ...rest.slice(1)])),
    /8 sub-layers/,
  );
});

test("sets refer to each other by id, and a slice to its PPS", () => {
  assert.deepEqual(readSet(nal(32, new BitWriter().bits(7, 4).bits(0, 12))), {
    ...{ kind: "vps", id: 7, refersTo: null, picture: null },
  });
  const pps = readSet(nal(34, new BitWriter().ue(9).ue(5).bits(0, 8)));
  assert.deepEqual([pps.kind, pps.id, pps.refersTo], ["pps", 9, 5]);
  const sps = readSet(makeSps({ id: 5, vpsId: 7 }));
  assert.deepEqual([sps.kind, sps.id, sps.refersTo, sps.picture?.width], ["sps", 5, 7, 320]);
  assert.equal(readPpsId(nal(1, new BitWriter().bits(1, 1).ue(9))), 9);
  assert.equal(readPpsId(nal(19, new BitWriter().bits(1, 1).bits(0, 1).ue(9))), 9);
  assert.equal(readPpsId(Uint8Array.of(2, 1)), null);
  for (const set of [Uint8Array.of(0x40, 1), Uint8Array.of(0x44, 1), Uint8Array.of(0x44, 1, 0)])
    assert.throws(() => readSet(set), MediaError);
});

test("only NAL units of the base layer count", () => {
  const kinds = (type: number, layer = 0): string =>
    h265.kindOf(Uint8Array.of((type << 1) | (layer >> 5), ((layer & 31) << 3) | 1, 0));
  assert.deepEqual(
    [0, 9, 16, 21, 22, 32, 33, 34, 35, 38, 39, 40, 48, 62].map((type) => kinds(type)),
    [
      "slice",
      "slice",
      "slice",
      "slice",
      "other",
      "vps",
      "sps",
      "pps",
      "other",
      "other",
      "sei",
      "sei",
      "other",
      "other",
    ],
  );
  for (const layer of [1, 31, 32, 63]) assert.equal(kinds(33, layer), "other");
  assert.equal(h265.kindOf(Uint8Array.of(0x42, 1)), "other");
});

test("a decoder configuration is read as it was written", () => {
  const sets = [VPS, makeSps({ subLayers: [[true, true]], profile: 2, depths: [10, 10], tier: 1 }), PPS];
  const written = writeHevcConfig(sets);
  assert.deepEqual([...written.subarray(12, 23)], [93, 0xf0, 0, 0xfc, 0xfd, 0xfa, 0xfa, 0, 0, 0x17, 3]);
  const { parameterSets, lengthSize } = readHevcConfig(written);
  assert.equal(lengthSize, 4);
  assert.deepEqual(
    parameterSets.map((set) => [...set]),
    sets.map((set) => [...set]),
  );
});

/** 64 × 48, six frames. */
function encode(file: string, args: readonly string[]): void {
  const input = "-v error -y -f lavfi -i testsrc=size=64x48:rate=12 -frames:v 6 -pix_fmt yuv420p -preset ultrafast";
  const coder = "-c:v libx265 -tag:v hvc1 -x265-params pools=1:frame-threads=1:log-level=error";
  execFileSync("ffmpeg", [...input.split(" "), ...coder.split(" "), ...args, file]);
}

test("reads the configuration that ffmpeg writes, and writes the same but for what it does not know", () =>
  withFolder((folder) => {
    for (const [name, args] of [
      ["main.mp4", []],
      ["ten.mp4", ["-pix_fmt", "yuv420p10le"]],
      ["odd.mp4", ["-vf", "crop=62:46:0:0"]],
    ] as const) {
      encode(join(folder, name), args);
      const bytes = readFileSync(join(folder, name));
      const at = bytes.indexOf("hvcC");
      const theirs = bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4));
      const { parameterSets } = readHevcConfig(theirs);
      const sets = findSets(h265, parameterSets) ?? assert.fail();
      const ours = readHevcConfig(writeHevcConfig(sets));
      assert.deepEqual(
        ours.parameterSets.map((set) => [...set]),
        sets.map((set) => [...set]),
      );
      assert.deepEqual([...writeHevcConfig(sets).subarray(0, 13)], [...theirs.subarray(0, 13)]);
      assert.deepEqual([...writeHevcConfig(sets).subarray(16, 22)], [...theirs.subarray(16, 22)]);
      const { width, height } = describeTrack(h265, sets);
      assert.deepEqual([width, height], name === "odd.mp4" ? [62, 46] : [64, 48]);
    }
  }));

test("any bytes are a configuration, parameter sets, slices, or a `MediaError`", () => {
  const valid = writeHevcConfig([VPS, makeSps(), PPS]);
  const spoilt = fc
    .tuple(fc.array(fc.tuple(fc.nat(valid.length - 1), fc.nat(255)), { maxLength: 6 }), fc.nat(valid.length))
    .map(([changes, length]) => {
      const copy = Buffer.from(valid);
      for (const [i, value] of changes) copy[i] = value;
      return copy.subarray(0, length);
    });
  const check = (work: () => unknown): void => {
    try {
      work();
    } catch (error) {
      assert.ok(error instanceof MediaError, String(error));
    }
  };
  fc.assert(
    fc.property(fc.oneof(spoilt, fc.uint8Array({ maxLength: 80 })), (bytes) => {
      check(() => {
        for (const set of readHevcConfig(bytes).parameterSets) check(() => readSet(set));
      });
      for (const type of [32, 33, 34]) check(() => readSet(Uint8Array.from([type << 1, 1, ...bytes])));
      check(() => h265.writeConfig([Uint8Array.from([33 << 1, 1, ...bytes])]));
      readPpsId(bytes);
      for (const one of splitStartCodes(bytes)) h265.kindOf(one);
    }),
    { numRuns: 1000 },
  );
});
