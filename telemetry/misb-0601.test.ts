import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rounds } from "../test/soak/rounds.fixture.ts";
import { TelemetryFault } from "./format.ts";
import { createFormat } from "./formats.ts";
import { readLength, readTag, writeLength, writeTag } from "./klv.ts";
import {
  AHEAD_MS,
  findPackets,
  readPacket,
  sumBytes,
  toUnixMs,
  type UasValues,
  vmtiOf,
  writePacket,
} from "./misb-0601.ts";
import { numberPixel, readVmti, writeVmti } from "./misb-0903.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(/\s/g, ""), "hex");
const near = (found: number | null | undefined, expected: number, within: number): void =>
  assert.ok(
    typeof found === "number" && Math.abs(found - expected) <= within,
    `${found} is not ${expected} ± ${within}`,
  );

/** The example of MISB ST 0902, annex C: items of ST 0601 with their published values. */
const PUBLISHED = hex(`
  060E2B34020B01010E0103010100000081D2 02 08 00046050584E0180 03 0A 4D697373696F6E203132 05 02 71C2 06 02 FD3D 07 02 08B8
  0A 08 5072656461746F72 0B 07 454F204E6F7365 0C 0E 47656F6465746963205747533834 0D 04 5595B66D 0E 04 5B5360C4 0F 02 C221
  10 02 CD9C 11 02 D917 12 04 724A0A20 13 04 87F84B86 14 04 00000000 15 04 03830926 16 02 1281 17 04 F101A229 18 04 14BC082B
  19 02 34F3 30 1C 01010102010703052F2F5553410C01070D060055005300411602000A 41 01 06
  5E 22 0170F592F02373364AF8AA9162C00F2EB2DA16B74341000841A0BE365B5AB96A3645 01 02 AA43`);

test("decodes the published packet to its published values", () => {
  const packet = readPacket(PUBLISHED) ?? assert.fail();
  const { values, others } = packet;
  assert.equal(packet.bytes, PUBLISHED.length);
  assert.equal(packet.isIntact, true);
  assert.equal(values.timeStamp, 1_231_798_102_000_000n);
  assert.equal(values.missionId, "Mission 12");
  assert.equal(values.platformDesignation, "Predator");
  assert.equal(values.imageSourceSensor, "EO Nose");
  assert.equal(values.imageCoordinateSystem, "Geodetic WGS84");
  near(values.platformHeading, 159.9744, 1e-4);
  near(values.platformPitch, -0.4315251, 1e-4);
  near(values.platformRoll, 3.405814, 1e-4);
  near(values.sensorLatitude, 60.1768229669783, 1e-12);
  near(values.sensorLongitude, 128.426759042045, 1e-11);
  near(values.sensorAltitude, 14_190.72, 0.01);
  near(values.sensorHfov, 144.5713, 1e-4);
  near(values.sensorVfov, 152.6436, 1e-4);
  near(values.sensorAzimuth, 160.719211474396, 4.2e-8);
  near(values.sensorElevation, -168.792324833941, 4.2e-8);
  near(values.sensorRoll, 0, 4.2e-8);
  near(values.slantRange, 68_590.983298744, 6e-4);
  near(values.targetWidth, 722.8199, 1e-3);
  near(values.frameLatitude, -10.5423886331461, 1e-12);
  near(values.frameLongitude, 29.157890122923, 1e-11);
  near(values.frameElevation, 3216.037, 1e-3);
  assert.equal(values.version, 6);
  // The security set and the core identifier are passed over.
  assert.deepEqual([...others.keys()], [48, 94]);
});

test("writes the published values to the published bytes", () => {
  const { values, others } = readPacket(PUBLISHED) ?? assert.fail();
  const written = writePacket(
    { ...values, timeStamp: values.timeStamp ?? 0n },
    { security: others.get(48) ?? Buffer.alloc(0) },
  );
  // Without the core identifier, which is not written: its 36 bytes are missing.
  const expected = Buffer.concat([PUBLISHED.subarray(18, PUBLISHED.length - 40)]);
  assert.equal(written.subarray(18, -4).toString("hex"), expected.toString("hex"));
});

test("the checksum is that of the standard's example, and a changed byte breaks it", () => {
  assert.equal(sumBytes(hex("060E2B34020081BB")), 0xb4fd);
  const changed = Buffer.from(PUBLISHED);
  changed[40] = (changed[40] ?? 0) ^ 1;
  assert.equal(readPacket(changed)?.isIntact, false);
  assert.throws(() => createFormat("misb_0601").read(changed, null), TelemetryFault);
});

/** Published values of single items, and how their bytes are written. */
const ITEMS = [
  ["targetLatitude", "28048F695262", -79.1638500518929, 1e-9],
  ["targetLongitude", "2904765457F2", 166.400812960416, 1e-9],
  ["targetElevation", "2A02F823", 18_389.05, 0.01],
  ["verticalSpeed", "3302D3FE", -61.88693, 0.0028],
  ["groundRange", "3904B38EACF1", 3_506_979.0316, 1e-3],
  ["sensorHeightExtended", "68032F921E", 23_456.24, 0.01],
] as const;
for (const [name, item, value, within] of ITEMS)
  test(`${name} is published as ${item}`, () => {
    const packet = writePacket({ timeStamp: 0n, [name]: value });
    assert.ok(packet.includes(hex(item)), packet.toString("hex"));
    near(readPacket(packet)?.values[name], value, within);
  });

test("lengths and tags are BER and BER-OID", () => {
  for (const [length, text] of [
    [0, "00"],
    [127, "7f"],
    [128, "8180"],
    [210, "81d2"],
    [65_536, "83010000"],
  ] as const) {
    assert.equal(writeLength(length).toString("hex"), text);
    assert.deepEqual(readLength(hex(text)), { value: length, size: text.length / 2 });
  }
  for (const [tag, text] of [
    [1, "01"],
    [127, "7f"],
    [128, "8100"],
    [144, "8110"],
    [16_384, "818000"],
  ] as const) {
    assert.equal(writeTag(tag).toString("hex"), text);
    assert.equal(readTag(hex(text))?.value, tag);
  }
  for (const text of ["", "80", "8201", "ff"]) assert.equal(readLength(hex(text)), null);
  assert.equal(readTag(hex("ffffffffff")), null);
});

/** Half a step of each mapping. */
const RANGES: Readonly<Record<string, readonly [least: number, most: number, within: number]>> = {
  platformHeading: [0, 360, 180 / 65_535],
  platformPitch: [-20, 20, 20 / 65_534],
  platformRoll: [-50, 50, 50 / 65_534],
  sensorLatitude: [-90, 90, 90 / (2 ** 32 - 2)],
  sensorLongitude: [-180, 180, 180 / (2 ** 32 - 2)],
  sensorAltitude: [-900, 19_000, 19_900 / 65_535 / 2],
  sensorHfov: [0, 180, 90 / 65_535],
  sensorVfov: [0, 180, 90 / 65_535],
  sensorAzimuth: [0, 360, 180 / (2 ** 32 - 1)],
  sensorElevation: [-180, 180, 180 / (2 ** 32 - 2)],
  sensorRoll: [0, 360, 180 / (2 ** 32 - 1)],
  slantRange: [0, 5e6, 2.5e6 / (2 ** 32 - 1)],
  frameLatitude: [-90, 90, 90 / (2 ** 32 - 2)],
  frameLongitude: [-180, 180, 180 / (2 ** 32 - 2)],
  frameElevation: [-900, 19_000, 19_900 / 65_535 / 2],
  cornerLatitudeOffset1: [-0.075, 0.075, 0.075 / 65_534],
  verticalSpeed: [-180, 180, 180 / 65_534],
  sensorHeight: [-900, 19_000, 19_900 / 65_535 / 2],
  platformPitchFull: [-90, 90, 90 / (2 ** 32 - 2)],
  platformRollFull: [-90, 90, 90 / (2 ** 32 - 2)],
  // IMAPB truncates: a whole step.
  sensorHeightExtended: [-900, 40_000, 2 ** (16 - 23)],
};

const ROUNDS = rounds(300, 10_000);
const SPOILT = rounds(600, 20_000);

test(`${ROUNDS} packets are read as written, to the resolution of the standard`, () => {
  const values = fc.record(
    Object.fromEntries(
      Object.entries(RANGES).map(([name, [min, max]]) => [name, fc.double({ min, max, noNaN: true })]),
    ),
  );
  const stamp = fc.bigInt({ min: 0n, max: 2n ** 62n });
  fc.assert(
    fc.property(values, stamp, fc.string({ maxLength: 40 }), (given, timeStamp, missionId) => {
      const packet = readPacket(writePacket({ ...given, timeStamp, missionId } as UasValues & { timeStamp: bigint }));
      assert.equal(packet?.isIntact, true);
      assert.equal(packet?.values.timeStamp, timeStamp);
      for (const [name, [, , within]] of Object.entries(RANGES))
        near(packet?.values[name as "slantRange"], given[name] as number, within * 1.000001 + 1e-12);
    }),
    { numRuns: ROUNDS },
  );
});

const VMTI = {
  ...{
    version: 6,
    targetsDetected: 300,
    targetsReported: 2,
    frameWidth: 1920,
    frameHeight: 1080,
    systemName: "Windhover",
  },
  targets: [
    {
      ...{ id: 7, centroid: numberPixel(960, 540, 1920), confidence: 88 },
      ...{ topLeft: numberPixel(900, 500, 1920), bottomRight: numberPixel(1020, 580, 1920) },
      ...{ latitudeOffset: 0.0005, longitudeOffset: -0.0007, height: 567 },
    },
    { id: 300, centroid: 409_600 },
  ],
};

test("targets of ST 0903 are read as written, inside of a packet", () => {
  const packet =
    readPacket(writePacket({ timeStamp: 1n, sensorLatitude: 48 }, { vmti: writeVmti(VMTI) })) ?? assert.fail();
  assert.equal(packet.isIntact, true);
  const { targets, ...set } = readVmti(vmtiOf(packet) ?? assert.fail());
  const { targets: _, ...expected } = VMTI;
  assert.deepEqual(set, expected);
  const [first, second] = targets;
  assert.deepEqual([first?.id, first?.centroid, first?.confidence], [7, 540 * 1920 + 961, 88]);
  near(first?.latitudeOffset, 0.0005, 5e-6);
  near(first?.longitudeOffset, -0.0007, 5e-6);
  near(first?.height, 567, 1);
  assert.deepEqual(second, { id: 300, centroid: 409_600 });
});

test("offsets before ST 0903.4 are read as signed integers", () => {
  const set = hex("040103 6507 06 01 0A03400000");
  near(readVmti(set).targets[0]?.latitudeOffset, 9.6, 1e-5);
});

test(`${SPOILT} spoilt packets are read without an exception`, () => {
  const good = Buffer.concat([PUBLISHED, writePacket({ timeStamp: 5n, sensorLatitude: 1 }, { vmti: writeVmti(VMTI) })]);
  const format = createFormat("misb_0601");
  const spoil = fc.record({
    cut: fc.nat(good.length),
    changes: fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 12 }),
    isFixed: fc.boolean(),
  });
  fc.assert(
    fc.property(spoil, ({ cut, changes, isFixed }) => {
      const bytes = Buffer.from(good);
      for (const [at, value] of changes) bytes[at] = value;
      // With a right checksum, so that the values are used.
      if (isFixed) bytes.writeUInt16BE(sumBytes(bytes.subarray(0, PUBLISHED.length - 2)), PUBLISHED.length - 2);
      const spoilt = bytes.subarray(0, cut);
      for (const packet of findPackets(spoilt)) {
        const vmti = vmtiOf(packet);
        if (vmti !== null) readVmti(vmti);
      }
      readVmti(spoilt);
      try {
        const reading = format.read(spoilt, 1_231_798_102_000);
        for (const value of Object.values(reading?.native ?? {})) assert.ok(Number.isFinite(value), String(value));
      } catch (error) {
        assert.ok(error instanceof TelemetryFault, String(error));
      }
    }),
    { numRuns: SPOILT },
  );
});

test("the time stamp counts leap seconds if item 136 or the arrival says so", () => {
  const unixMs = 1_790_000_000_000;
  const asMisb = BigInt(Math.round((unixMs + AHEAD_MS) * 1000));
  assert.equal(toUnixMs({ timeStamp: asMisb, leapSeconds: -29 }, null), unixMs + AHEAD_MS - 29_000);
  near(toUnixMs({ timeStamp: asMisb }, unixMs + 300), unixMs, 1);
  assert.equal(toUnixMs({ timeStamp: BigInt(unixMs) * 1000n }, unixMs + 300), unixMs);
  assert.equal(toUnixMs({ timeStamp: BigInt(unixMs) * 1000n }, null), unixMs);
});

/** A camera that looks 30° to the right of the nose and 45° down, from a level platform that flies east. */
const FLYING = {
  ...{ timeStamp: 1_790_000_000_000_000n, platformHeading: 90, platformPitchFull: 0, platformRollFull: 0 },
  ...{ sensorLatitude: 48, sensorLongitude: 11, sensorAltitude: 620, sensorHfov: 60, sensorVfov: 34 },
  ...{ sensorAzimuth: 30, sensorElevation: -45, sensorRoll: 0, frameElevation: 520 },
};
const readValues = (values: UasValues & { timeStamp: bigint }, format = createFormat("misb_0601")) =>
  format.read(writePacket(values), null) ?? assert.fail();

test("converts a packet to a complete sample", () => {
  const { sample, lack } = readValues(FLYING);
  assert.equal(lack, null);
  assert.equal(sample.timeMs, 1_790_000_000_000);
  near(sample.attitude?.yaw, 120, 0.01);
  near(sample.attitude?.pitch, -45, 0.01);
  near(sample.attitude?.roll, 0, 0.01);
  near(sample.position?.altitude, 620, 0.2);
  near(sample.position?.relAltitude, 100, 0.4);
});

test("adds the attitude of the platform to that of the camera", () => {
  // Rolled 10° to the right, a camera that looks to the right looks down by 10°, and level.
  const right = readValues({ ...FLYING, platformRollFull: 10, sensorAzimuth: 90, sensorElevation: 0 }).sample.attitude;
  near(right?.yaw, -180, 0.01);
  near(right?.pitch, -10, 0.01);
  near(right?.roll, 0, 0.01);
  // Items 6 and 7 only where 90 and 91 are not sent.
  const { platformPitchFull: _, platformRollFull: __, ...short } = FLYING;
  const up = readValues({ ...short, platformPitch: 5, sensorAzimuth: 0, sensorElevation: -45 }).sample.attitude;
  near(up?.pitch, -40, 0.01);
});

test("keeps values that are not sent again, and forgets one that is sent empty", () => {
  const format = createFormat("misb_0601");
  readValues(FLYING, format);
  const next = readValues(
    { timeStamp: FLYING.timeStamp + 100_000n, sensorLatitude: 48.001, sensorLongitude: 11 },
    format,
  );
  near(next.sample.position?.latitude, 48.001, 1e-6);
  near(next.sample.position?.relAltitude, 100, 0.4);
  assert.equal(next.sample.attitude, null);
  assert.equal(next.lack, null);
  const last = readValues({ timeStamp: FLYING.timeStamp + 200_000n, sensorHfov: null }, format);
  assert.match(last.lack ?? "", /fields of view \(items 16 and 17\)/);
});

test("uses a slant range that agrees with the elevation of the frame centre, which is coarser", () => {
  const { sample } = readValues({ ...FLYING, slantRange: 100.2 / Math.sin(Math.PI / 4) });
  near((sample.position?.altitude ?? 0) - (sample.position?.relAltitude ?? 0), 620 - 100.2, 0.16);
  const far = readValues({ ...FLYING, slantRange: 5000 });
  near(far.sample.position?.relAltitude, 100, 0.4);
});
