/** What holds for all formats of files: recognised by their content, and safe for any bytes. */
import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rounds } from "../test/soak/rounds.fixture.ts";
import { TelemetryFault } from "./format.ts";
import {
  createFormat,
  FILE_FORMAT_NAMES,
  type FileFormatName,
  FORMAT_NAMES,
  readTelemetryFile,
  recogniseFormat,
} from "./formats.ts";
import { writeGimbal, writePosition, writeRecord } from "./mavlink.fixture.ts";
import { writePacket } from "./misb-0601.ts";

const NATIVE = {
  timestamp: 1_760_000_000,
  sensor_hfov: 60,
  sensor_vfov: 34,
  latitude: 41.4,
  longitude: 2.17,
  altitude: 180,
  rel_altitude: 60,
};

const FILES: Readonly<Record<FileFormatName, Buffer>> = {
  native: Buffer.from(
    [0, 1, 2].map((second) => JSON.stringify({ ...NATIVE, timestamp: NATIVE.timestamp + second })).join("\n"),
  ),
  vendor_a: Buffer.from(
    `${JSON.stringify({ timestamp: 1_760_000_000_000, data: { latitude: 41.4, longitude: 2.17, height: 60, elevation: 50 } })}\n`,
  ),
  dji_srt: Buffer.from(
    '1\r\n00:00:00,000 --> 00:00:00,033\r\n<font size="28">[focal_len: 24.00] [latitude: 41.4] [longitude: 2.17] [rel_alt: 50.0 abs_alt: 300.0] [gb_yaw: -170.5 gb_pitch: -60.0 gb_roll: 0.0] G.PRY (-45.0°, 0.5°, 92.0°) GPS(2.17,41.4,16), H 6.00m</font>\r\n\r\n',
  ),
  flight_csv: Buffer.from(
    "time(millisecond),datetime(utc),latitude,longitude,height(feet)\n0,2026-05-01 10:00:00,41.4,2.17,10\n",
  ),
  mavlink: Buffer.concat([
    writeRecord(1_790_000_000_000, writePosition()),
    writeRecord(1_790_000_000_100, writeGimbal(-45)),
  ]),
};

for (const [name, bytes] of Object.entries(FILES) as [FileFormatName, Buffer][])
  test(`recognises a file of ${name} and reads it`, () => {
    assert.equal(recogniseFormat(bytes), name);
    const readings = [...readTelemetryFile(name, bytes, {})].filter((reading) => reading !== null);
    assert.ok(readings.some(({ sample }) => sample.position !== null || sample.attitude !== null));
  });

test("rejects a file of no format with the formats that there are", () => {
  for (const bytes of [Buffer.alloc(0), Buffer.from("hello\nworld"), Buffer.alloc(1000)])
    assert.throws(
      () => recogniseFormat(bytes),
      (error: unknown) => error instanceof TelemetryFault && /dji_srt, flight_csv, mavlink/.test(error.message),
    );
});

test("lines of messages: an incomplete last line is passed over, any other is reported with its number", () => {
  const line = JSON.stringify(NATIVE);
  const read = (text: string) => [...readTelemetryFile("native", Buffer.from(text), {})].filter((one) => one !== null);
  assert.equal(read(`\uFEFF${line}\r\n\n${line}\n{"times`).length, 2);
  for (const [text, expected] of [
    [`${line}\n{\n${line}`, /^Line 2: .*not valid JSON/],
    [`${line}\n{"timestamp": -1}`, /^Line 2: Expected a telemetry message/],
    ["{", /^Line 1: /],
  ] as const)
    assert.throws(
      () => read(text),
      (error: unknown) => error instanceof TelemetryFault && expected.test(error.message),
    );
});

const ROUNDS = rounds(60, 5_000);

for (const name of FILE_FORMAT_NAMES)
  test(`${ROUNDS} spoilt files of ${name} give finite numbers or a fault`, () => {
    const good = Buffer.concat([FILES[name], Buffer.from("\n"), FILES[name]]);
    const change = fc.record({ at: fc.nat(good.length), drop: fc.nat(20), put: fc.uint8Array({ maxLength: 12 }) });
    fc.assert(
      fc.property(fc.array(change, { minLength: 1, maxLength: 6 }), (changes) => {
        let bytes = good;
        for (const { at, drop, put } of changes)
          bytes = Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + drop)]);
        try {
          for (const reading of readTelemetryFile(name, bytes, {})) {
            for (const value of Object.values(reading?.native ?? {})) assert.ok(Number.isFinite(value), String(value));
            const { position } = reading?.sample ?? {};
            assert.ok(!position || (Math.abs(position.latitude) <= 90 && Math.abs(position.longitude) <= 180));
          }
        } catch (error) {
          assert.ok(error instanceof TelemetryFault, String(error));
        }
      }),
      { numRuns: ROUNDS },
    );
  });

for (const name of FORMAT_NAMES)
  test(`any bytes are a reading, nothing or a fault for ${name}`, () => {
    const format = createFormat(name, {});
    const good = Buffer.concat([writePosition(), writeGimbal(-45), writePacket({ timeStamp: 1n, sensorLatitude: 4 })]);
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 8 }).map((changes) => {
        const changed = Buffer.from(good);
        for (const [at, value] of changes) changed[at] = value;
        return changed;
      }),
    );
    fc.assert(
      fc.property(bytes, (payload) => {
        format.isRelevant?.(payload);
        try {
          for (const value of Object.values(format.read(payload, 1_790_000_000_000)?.native ?? {}))
            assert.ok(Number.isFinite(value), String(value));
        } catch (error) {
          assert.ok(error instanceof TelemetryFault, String(error));
        }
      }),
      { numRuns: ROUNDS },
    );
  });
