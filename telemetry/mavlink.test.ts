import assert from "node:assert/strict";
import { test } from "node:test";
import { TelemetryFault } from "./format.ts";
import { createFormat, readTelemetryFile } from "./formats.ts";
import {
  writeAttitude,
  writeClock,
  writeFrame,
  writeGimbal,
  writeHeartbeat,
  writePosition,
  writeRecord,
  writeView,
} from "./mavlink.fixture.ts";

const NOW = 1_790_000_000_000;
const open = (parameters = {}) => createFormat("mavlink", parameters);

test("joins the messages of a vehicle to samples", () => {
  const format = open();
  assert.equal(format.read(writeHeartbeat(), NOW), null);
  const place = format.read(writePosition(), NOW) ?? assert.fail();
  assert.deepEqual(place.sample.position, { latitude: 48.13743, longitude: 11.57549, altitude: 620, relAltitude: 100 });
  assert.equal(place.native.speed, 5);
  assert.match(place.lack ?? "", /GIMBAL_DEVICE_ATTITUDE_STATUS.*CAMERA_FOV_STATUS/s);
  assert.equal(format.read(writeView(61.4, 37.2), NOW), null);
  assert.equal(format.read(writeAttitude(271.25), NOW), null);
  const camera = format.read(writeGimbal(-45), NOW) ?? assert.fail();
  // The sample has only what was measured at its time.
  assert.equal(camera.sample.position, null);
  assert.ok(Math.abs((camera.sample.attitude?.yaw ?? 0) + 88.75) < 1e-3);
  assert.ok(Math.abs((camera.sample.attitude?.pitch ?? 0) + 45) < 1e-3);
  assert.ok(Math.abs((camera.sample.hfov ?? 0) - 61.4) < 1e-5);
  assert.equal(camera.native.latitude, 48.13743);
  assert.equal(camera.lack, null);
});

for (const [what, flags, yaw, expected] of [
  ["from the nose", 32, 10, 100],
  ["from north", 64, 10, 10],
  ["from north when it is locked", 16, 10, 10],
  ["from the nose without a flag", 0, 10, 100],
] as const)
  test(`reads the yaw of a gimbal ${what}`, () => {
    const format = open();
    // Heads east.
    format.read(writePosition(), NOW);
    const { sample } = format.read(writeGimbal(-30, flags, yaw), NOW) ?? assert.fail();
    assert.ok(Math.abs((sample.attitude?.yaw ?? 0) - expected) < 1e-3, String(sample.attitude?.yaw));
    assert.ok(Math.abs((sample.attitude?.pitch ?? 0) + 30) < 1e-3, String(sample.attitude?.pitch));
  });

test("reads version 1, several frames of a datagram, and frames after bytes that are none", () => {
  const dirty = Buffer.concat([Buffer.from("deadfd00fe", "hex"), writeHeartbeat(), writePosition({}, { version: 1 })]);
  assert.equal(open().read(dirty, NOW)?.native.latitude, 48.13743);
  const both = Buffer.concat([writePosition(), writeAttitude(90), writeGimbal(-20)]);
  const { native } = open().read(both, NOW) ?? assert.fail();
  assert.deepEqual([native.latitude, Math.round(native.camera_pitch ?? 0)], [48.13743, -20]);
});

test("ignores a frame with a wrong CRC, and those of other vehicles", () => {
  const broken = writePosition();
  broken[14] = (broken[14] ?? 0) ^ 1;
  assert.equal(open().read(broken, NOW), null);
  const format = open();
  format.read(writePosition({}, { system: 7 }), NOW);
  assert.equal(format.read(writePosition({ latitude: 10 }, { system: 8 }), NOW), null);
  assert.equal(open({ system_id: 8 }).read(writePosition({}, { system: 7 }), NOW), null);
});

test("knows which datagrams need not be read", () => {
  const format = open();
  assert.equal(format.isRelevant?.(writeHeartbeat()), false);
  assert.equal(format.isRelevant?.(writePosition()), true);
  assert.equal(format.isRelevant?.(Buffer.alloc(100, 0xfd)), false);
});

test("times are those of the vehicle's clock, else of the fastest message", () => {
  const format = open();
  // Clocks of others, such as the ground station, do not count: the vehicle is known by its position.
  format.read(writePosition(), NOW);
  format.read(writeClock(NOW - 5000, 60_000), NOW);
  assert.equal(format.read(writePosition({ bootMs: 61_000 }), NOW)?.sample.timeMs, NOW - 4000);
  const without = open();
  assert.equal(without.read(writePosition({ bootMs: 1000 }), NOW)?.sample.timeMs, NOW);
  // Delayed by 300 ms.
  assert.equal(without.read(writePosition({ bootMs: 1200 }), NOW + 500)?.sample.timeMs, NOW + 200);
});

test("with a passphrase, accepts only frames that are signed with it, and each only once", () => {
  const format = open({ password: "correct horse" });
  const signed = (time: number, passphrase = "correct horse") => writePosition({}, { signature: { passphrase, time } });
  assert.throws(() => format.read(writePosition(), NOW), TelemetryFault);
  assert.throws(() => format.read(signed(5, "wrong"), NOW), TelemetryFault);
  assert.equal(format.read(signed(5), NOW)?.native.latitude, 48.13743);
  assert.throws(() => format.read(signed(5), NOW), TelemetryFault);
  assert.throws(() => format.read(signed(4), NOW), TelemetryFault);
  assert.equal(format.read(signed(6), NOW)?.native.latitude, 48.13743);
  // Without a passphrase signatures are not checked.
  assert.equal(open().read(signed(5, "any"), NOW)?.native.latitude, 48.13743);
});

test("reads a .tlog, also with bytes that are damaged", () => {
  const file = Buffer.concat([
    writeRecord(NOW, writeHeartbeat(255)),
    writeRecord(NOW + 1, writeHeartbeat()),
    writeRecord(NOW + 10, writePosition()),
    Buffer.from("0badc0de", "hex"),
    writeRecord(NOW + 20, writeFrame(0, Buffer.alloc(9))),
    writeRecord(NOW + 30, writeGimbal(-45)),
    writeRecord(NOW + 110, writePosition({ bootMs: 1100, latitude: 48.2 })).subarray(0, -3),
  ]);
  const readings = [...readTelemetryFile("mavlink", file, { sensor_hfov: 60, sensor_vfov: 34 })].filter(
    (one) => one !== null,
  );
  assert.deepEqual(
    readings.map(({ sample }) => [sample.timeMs, sample.receivedMs]),
    [
      [NOW + 10, null],
      [NOW + 30, null],
    ],
  );
  assert.equal(readings[1]?.lack, null);
});
