import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TelemetryFault } from "./format.ts";
import { createFormat } from "./formats.ts";
import { toSample } from "./native.ts";

const REDUCED = { timestamp: 1_760_000_000, sensor_hfov: 60, sensor_vfov: 34 };
const FULL = {
  ...REDUCED,
  latitude: 41.4,
  longitude: 2.17,
  speed: 3.5,
  camera_pitch: -45,
  camera_yaw: 350,
  camera_roll: 0,
  altitude: 180,
  rel_altitude: 60,
};

const read = (message: unknown, receivedMs: number | null = null) =>
  createFormat("native").read(typeof message === "string" ? message : JSON.stringify(message), receivedMs);

function reject(payload: string | Uint8Array): TelemetryFault {
  try {
    createFormat("native").read(payload, null);
  } catch (error) {
    assert.ok(error instanceof TelemetryFault, String(error));
    return error;
  }
  return assert.fail(`${payload} was taken`);
}

test("converts a complete message to a complete sample, with angles from -180 to 180", () => {
  const { sample, native, lack } = read(FULL, 1_760_000_000_250);
  assert.deepEqual(sample, {
    timeMs: 1_760_000_000_000,
    receivedMs: 1_760_000_000_250,
    hfov: 60,
    vfov: 34,
    position: { latitude: 41.4, longitude: 2.17, altitude: 180, relAltitude: 60 },
    attitude: { yaw: -10, pitch: -45, roll: 0 },
  });
  assert.deepEqual(native, FULL);
  assert.equal(lack, null);
});

test("accepts fields of view alone, and states what is missing", () => {
  const { sample, lack } = read(REDUCED);
  assert.equal(sample.position, null);
  assert.equal(sample.attitude, null);
  assert.match(lack ?? "", /no latitude, longitude, altitude, rel_altitude, camera_yaw/);
});

for (const name of ["latitude", "longitude", "altitude", "rel_altitude"] as const) {
  test(`drops a position without ${name} and keeps the attitude`, () => {
    const { sample, lack } = read({ ...FULL, [name]: undefined });
    assert.equal(sample.position, null);
    assert.notEqual(sample.attitude, null);
    assert.match(lack ?? "", new RegExp(`no ${name}: without it`));
  });
}
for (const name of ["camera_yaw", "camera_pitch", "camera_roll"] as const) {
  test(`drops an attitude without ${name} and keeps the position`, () => {
    const { sample } = read({ ...FULL, [name]: undefined });
    assert.equal(sample.attitude, null);
    assert.notEqual(sample.position, null);
  });
}

test("reads timestamps in seconds and in milliseconds, with fractions", () => {
  assert.equal(read({ ...FULL, timestamp: 1_760_000_000.125 }).sample.timeMs, 1_760_000_000_125);
  const late = read({ ...FULL, timestamp: 1_760_000_000_125 });
  assert.equal(late.sample.timeMs, 1_760_000_000_125);
  assert.equal(late.native.timestamp, 1_760_000_000.125);
  assert.equal(read({ ...FULL, timestamp: 0 }).sample.timeMs, 0);
});

test("accepts a position below sea level", () => {
  assert.equal(read({ ...FULL, altitude: -428 }).sample.position?.altitude, -428);
});

test("ignores unknown fields", () => {
  const { native } = read(`{"__proto__": {"x": 1}, "battery": 80, ${JSON.stringify(REDUCED).slice(1)}`);
  assert.deepEqual(native, REDUCED);
});

test("reads bytes as UTF-8 text", () => {
  const bytes = new TextEncoder().encode(JSON.stringify(FULL));
  assert.deepEqual(createFormat("native").read(bytes, null), read(FULL));
});

for (const [what, message, path] of [
  ["a latitude of 91", { ...FULL, latitude: 91 }, "/latitude"],
  ["a yaw of 720", { ...FULL, camera_yaw: 720 }, "/camera_yaw"],
  ["text for a number", { ...FULL, longitude: "2.17" }, "/longitude"],
  ["null for a number", { ...FULL, altitude: null }, "/altitude"],
  ["no timestamp", { ...FULL, timestamp: undefined }, "/timestamp"],
  ["a date for a timestamp", { ...FULL, timestamp: "2026-01-01T00:00:00Z" }, "/timestamp"],
  ["no field of view", { ...FULL, sensor_vfov: undefined }, "/sensor_vfov"],
  ["a field of view of 180 degrees", { ...FULL, sensor_hfov: 180 }, "/sensor_hfov"],
  ["a list", [FULL], ""],
  ["null", null, ""],
] as const) {
  test(`rejects ${what} and names the field`, () => {
    const { faults } = reject(JSON.stringify(message));
    assert.ok(
      faults.some((fault) => fault.path === path),
      JSON.stringify(faults),
    );
  });
}

test("rejects a number that is too large for calculations", () => {
  const { faults } = reject(JSON.stringify(FULL).replace('"speed":3.5', '"speed":1e999'));
  assert.deepEqual(
    faults.map(({ path }) => path),
    ["/speed"],
  );
});

for (const payload of ["", "{", '{"timestamp": NaN}', new Uint8Array([0xff, 0xfe, 0x00]), "\u0000"]) {
  test(`rejects invalid JSON without pointers: ${JSON.stringify(payload)}`, () => {
    const fault = reject(payload);
    assert.deepEqual(fault.faults, []);
    assert.match(fault.message, /not valid JSON/);
  });
}

test("reads or rejects any input, and accepted values are valid", () => {
  const number = fc.oneof(fc.double(), fc.integer(), fc.constantFrom(null, "1", true, [], {}));
  const message = fc.record(
    Object.fromEntries(Object.keys(FULL).map((name) => [name, number])) as Record<keyof typeof FULL, typeof number>,
    { requiredKeys: [] },
  );
  fc.assert(
    fc.property(
      fc.oneof(
        message.map((one) => JSON.stringify(one)),
        fc.string(),
        fc.json(),
      ),
      (text) => {
        try {
          const { sample } = createFormat("native").read(text, 1);
          for (const value of [sample.timeMs, sample.hfov, sample.vfov, ...Object.values(sample.attitude ?? {})])
            assert.ok(Number.isFinite(value));
        } catch (error) {
          assert.ok(error instanceof TelemetryFault, String(error));
        }
      },
    ),
  );
});

test("creates a sample without a time from fixed values", () => {
  const { timestamp: _, ...fields } = FULL;
  assert.equal(toSample(fields, null, null).timeMs, null);
});
