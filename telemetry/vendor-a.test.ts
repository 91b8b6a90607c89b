import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { type FormatParameters, TelemetryFault } from "./format.ts";
import { createFormat } from "./formats.ts";
import { findWideView, narrowView } from "./vendor-a.ts";

const TIME = 1_760_000_000_000;
const GIMBAL = { gimbal_pitch: -40, gimbal_roll: 0.5, gimbal_yaw: 170 };
const DATA = {
  latitude: 52.1,
  longitude: 5.1,
  height: 155.5,
  elevation: 60,
  attitude_head: 30,
  attitude_pitch: 1,
  attitude_roll: -1,
  horizontal_speed: 12,
  "53-0-0": { ...GIMBAL, zoom_factor: 1 },
};

const near = (actual: number | null | undefined, expected: number, within = 0.06): void =>
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) < within, `${actual} is not ${expected}`);

function open(parameters: FormatParameters = {}) {
  const format = createFormat("vendor_a", parameters);
  return (data: unknown, afterMs = 0) =>
    format.read(
      JSON.stringify({ tid: "1", bid: "2", timestamp: TIME + afterMs, gateway: "3", data }),
      TIME + afterMs + 80,
    );
}

test("converts a complete message to a complete sample and native message", () => {
  const { sample, native, lack } = open({ geoid_separation_m: 0 })(DATA);
  assert.equal(lack, null);
  near(sample.hfov, 71.5);
  near(sample.vfov, 44.1);
  assert.deepEqual(
    { ...sample, hfov: 0, vfov: 0 },
    {
      timeMs: TIME,
      receivedMs: TIME + 80,
      hfov: 0,
      vfov: 0,
      position: { latitude: 52.1, longitude: 5.1, altitude: 155.5, relAltitude: 60 },
      attitude: { yaw: 170, pitch: -40, roll: 0.5 },
    },
  );
  assert.equal(native.timestamp, TIME / 1000);
  assert.equal(native.speed, 12);
  assert.deepEqual([native.drone_yaw, native.drone_pitch, native.drone_roll], [30, 1, -1]);
});

test("subtracts the geoid separation from heights above the ellipsoid: 0 by default, that of EGM96 on request", () => {
  const { sample } = open({ geoid_separation_m: 43.5 })(DATA);
  assert.equal(sample.position?.altitude, 112);
  assert.equal(sample.position?.relAltitude, 60);
  // 43.3 m in Utrecht.
  near(open({ geoid_separation_m: "auto" })(DATA).sample.position?.altitude, 155.5 - 43.3, 0.5);
  assert.equal(open()(DATA).sample.position?.altitude, 155.5);
});

test("adds the drone's heading to a gimbal yaw relative to the nose", () => {
  assert.equal(open({ gimbal_yaw_frame: "body" })(DATA).sample.attitude?.yaw, -160);
  const { sample, lack } = open({ gimbal_yaw_frame: "body" })({ ...DATA, attitude_head: null });
  assert.equal(sample.attitude, null);
  assert.match(lack ?? "", /gimbal_yaw_frame/);
});

test("keeps the last value of a missing field for ten seconds", () => {
  const read = open({ geoid_separation_m: 0 });
  read(DATA);
  const later = read({ latitude: 52.2, longitude: 5.1 }, 2000);
  assert.deepEqual(later.sample.position, { latitude: 52.2, longitude: 5.1, altitude: 155.5, relAltitude: 60 });
  assert.equal(later.sample.attitude, null, "of that moment nothing is known");
  assert.equal(later.native.camera_pitch, -40);
  assert.equal(later.lack, null);
  assert.equal(read({ latitude: 52.3, longitude: 5.1 }, 10_000).native.camera_pitch, -40);
  const last = read({ latitude: 52.4, longitude: 5.1 }, 10_001);
  assert.equal(last.native.camera_pitch, undefined);
  assert.equal(last.sample.position, null);
  assert.match(last.lack ?? "", /height.*gimbal/s);
});

test("treats null as missing", () => {
  const read = open();
  read(DATA);
  const { native } = read({ ...DATA, elevation: null, "53-0-0": { gimbal_pitch: null } }, 500);
  assert.equal(native.rel_altitude, 60);
  assert.equal(native.camera_pitch, -40);
  assert.equal(read({ ...DATA, "53-0-0": null }, 600).native.camera_yaw, 170);
});

test("ignores late messages for newer values, and duplicates", () => {
  const read = open();
  read(DATA);
  read({ ...DATA, elevation: 70 }, 2000);
  const late = read({ ...DATA, elevation: 65 }, 1000);
  assert.equal(late.sample.timeMs, TIME + 1000);
  assert.equal(late.sample.position?.relAltitude, 65);
  assert.equal(read({ horizontal_speed: 1 }, 2500).native.rel_altitude, 70);
  assert.deepEqual(read({ horizontal_speed: 1 }, 2500), read({ horizontal_speed: 1 }, 2500));
});

test("drops all values when the clock jumps far back", () => {
  const read = open();
  read(DATA);
  assert.equal(read({ latitude: 52, longitude: 5 }, -60_000).native.rel_altitude, undefined);
  assert.equal(read(DATA, -59_000).lack, null);
});

test("treats 0, 0 as no fix, and says so", () => {
  const { sample, native, lack } = open()({ ...DATA, latitude: 0, longitude: 0 });
  assert.equal(sample.position, null);
  assert.equal(native.latitude, undefined);
  assert.match(lack ?? "", /no fix/);
  assert.notEqual(open()({ ...DATA, latitude: 0, longitude: 5 }).sample.position, null);
});

test("narrows the view with the zoom, and ignores a zoom below 1", () => {
  const zoomed = (zoom_factor: number) => open()({ ...DATA, "53-0-0": { ...GIMBAL, zoom_factor } }).sample.hfov;
  near(zoomed(0.57), 71.5);
  // 2 atan(0.7203 / 10)
  near(zoomed(10), 8.24);
});

test("prefers the live-view region to the zoom", () => {
  const camera = (region: unknown, payload_index = "53-0-0") => ({
    ...DATA,
    "53-0-0": { ...GIMBAL, zoom_factor: 10 },
    cameras: [null, { payload_index: "39-0-7" }, { payload_index, liveview_world_region: region }],
  });
  const region = { left: 0.4, top: 0.45, right: 0.6, bottom: 0.65 };
  // 2 atan(0.7203 / 5)
  near(open()(camera(region)).sample.hfov, 16.4);
  for (const none of [{ left: 0, top: 0, right: 0, bottom: 0 }, null, 7, { left: "x" }, { ...region, right: 2 }])
    near(open()(camera(none)).sample.hfov, 8.24);
  near(open()(camera(region, "67-0-0")).sample.hfov, 8.24);
});

test("drops the last region after another zoom or an invalid region", () => {
  const none = { left: 0, top: 0, right: 0, bottom: 0 };
  const narrow = { left: 0.475, top: 0.475, right: 0.525, bottom: 0.525 };
  const message = (zoom: number | null, region: unknown) => ({
    ...DATA,
    "53-0-0": { ...GIMBAL, zoom_factor: zoom },
    ...(region !== null && { cameras: [{ payload_index: "53-0-0", liveview_world_region: region }] }),
  });
  for (const [next, hfov] of [
    [message(1, null), 71.5],
    [message(1, none), 71.5],
    [message(20, null), 4.13],
    [message(null, null), 4.13],
  ] as const) {
    const read = open();
    near(read(message(20, narrow)).sample.hfov, 4.13);
    near(read(next, 500).sample.hfov, hfov);
    near(read(next, 1000).sample.hfov, hfov);
  }
  const late = open();
  late(message(20, narrow), 500);
  late(message(1, null), 0);
  near(late(message(null, null), 600).sample.hfov, 4.13);
});

test("keeps zoom and region through gaps, until another camera or a clock set back", () => {
  const zoomed = { ...DATA, "53-0-0": { ...GIMBAL, zoom_factor: 5 } };
  const partial = { ...DATA, "53-0-0": GIMBAL };
  const read = open();
  near(read(zoomed).sample.hfov, 16.4);
  for (const afterMs of [4000, 12_000, 20_000, 600_000]) near(read(partial, afterMs).sample.hfov, 16.4);
  near(read({ ...DATA, "53-0-0": { ...GIMBAL, zoom_factor: 1 } }, 601_000).sample.hfov, 71.5);
  read(zoomed, 602_000);
  near(
    read({ ...DATA, "53-0-0": undefined, "52-0-0": GIMBAL }, 603_000).sample.hfov,
    open()({ ...DATA, "53-0-0": undefined, "52-0-0": GIMBAL }).sample.hfov ?? 0,
  );
  const again = open();
  again(zoomed);
  near(again(partial, -60_000).sample.hfov, 71.5);
  const region = { left: 0.4, top: 0.45, right: 0.6, bottom: 0.65 };
  const shown = open();
  shown({ ...zoomed, cameras: [{ payload_index: "53-0-0", liveview_world_region: region }] });
  near(shown(partial, 30_000).sample.hfov, 16.4);
});

test("rejects a message with many faults with some of them, and one with many cameras with one", () => {
  const reject = (data: unknown) => {
    try {
      open()(data);
    } catch (error) {
      return (error as TelemetryFault).faults;
    }
    return null;
  };
  const cameras = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}-0-0`, value]));
  assert.deepEqual(
    reject(cameras(5000, 1))?.map(({ path }) => path),
    ["/data"],
  );
  assert.equal(reject(cameras(32, { gimbal_yaw: "north", gimbal_roll: "up" }))?.length, 20);
  assert.equal(reject(cameras(32, GIMBAL)), null);
});

test("never selects the pilot's camera", () => {
  const { sample, lack } = open()({ ...DATA, "53-0-0": undefined, "39-0-7": GIMBAL });
  assert.equal(sample.attitude, null);
  assert.match(lack ?? "", /No message contains a camera.*sensor_hfov/s);
  assert.equal(open()({ ...DATA, "39-0-7": { ...GIMBAL, gimbal_yaw: "north" } }).sample.attitude?.yaw, 170);
});

test("asks for the fields of view of an unknown camera", () => {
  const data = { ...DATA, "53-0-0": undefined, "99-0-0": GIMBAL };
  const { sample, lack } = open()(data);
  assert.equal(sample.hfov, null);
  assert.equal(sample.attitude?.yaw, 170);
  assert.match(lack ?? "", /camera 99-0-0 is unknown: .*sensor_hfov and sensor_vfov/);
  const set = open({ sensor_hfov: 60, sensor_vfov: 36 })(data);
  near(set.sample.hfov, 60);
  near(set.sample.vfov, 36);
  assert.equal(set.lack, null);
});

test("selects the known one of two cameras, and keeps it", () => {
  const read = open();
  assert.equal(read({ ...DATA, "99-0-0": { ...GIMBAL, gimbal_yaw: 1 } }).sample.attitude?.yaw, 170);
  assert.equal(read({ "99-0-0": { ...GIMBAL, gimbal_yaw: 1 } }, 500).sample.attitude, null);
  assert.equal(read({ "67-0-0": { ...GIMBAL, gimbal_yaw: 2 } }, 600).sample.attitude?.yaw, 2);
});

test("reports the laser's target while its measurement is valid", () => {
  const laser = {
    measure_target_latitude: 52.2,
    measure_target_longitude: 5.2,
    measure_target_altitude: 3,
    measure_target_distance: 210,
  };
  const read = (state: number) =>
    open()({ ...DATA, "53-0-0": { ...GIMBAL, ...laser, measure_target_error_state: state } }).measured;
  assert.deepEqual(read(0), { latitude: 52.2, longitude: 5.2, altitude: 3, distance: 210 });
  assert.equal(read(3), undefined);
});

for (const [what, message, path] of [
  ["a message without data", { timestamp: TIME }, "/data"],
  ["a message without a timestamp", { data: DATA }, "/timestamp"],
  ["a latitude of 91", { timestamp: TIME, data: { ...DATA, latitude: 91 } }, "/data/latitude"],
  ["text for a number", { timestamp: TIME, data: { "53-0-0": { gimbal_yaw: "north" } } }, "/data/53-0-0/gimbal_yaw"],
  ["a yaw of 720", { timestamp: TIME, data: { "53-0-0": { gimbal_yaw: 720 } } }, "/data/53-0-0/gimbal_yaw"],
  ["a native message", { timestamp: TIME, sensor_hfov: 60, sensor_vfov: 34 }, "/data"],
] as const) {
  test(`rejects ${what}, names the field, and keeps its state`, () => {
    const format = createFormat("vendor_a");
    format.read(JSON.stringify({ timestamp: TIME, data: DATA }), null);
    assert.throws(
      () => format.read(JSON.stringify(message), null),
      (error: unknown) =>
        error instanceof TelemetryFault && error.faults.some((fault) => fault.path === path && fault.message !== ""),
    );
    const after = format.read(JSON.stringify({ timestamp: TIME + 1, data: {} }), null);
    assert.equal(after.native.latitude, 52.1);
  });
}

test("reads or rejects any input, and accepted values are valid", () => {
  const value = fc.oneof(fc.double({ noDefaultInfinity: true, noNaN: true }), fc.constantFrom(null, "1", true, [], {}));
  const payload = fc.record(
    { gimbal_yaw: value, gimbal_pitch: value, gimbal_roll: value, zoom_factor: value },
    { requiredKeys: [] },
  );
  const data = fc.record(
    {
      latitude: value,
      longitude: value,
      height: value,
      elevation: value,
      attitude_head: value,
      "53-0-0": fc.oneof(payload, value),
      cameras: fc.oneof(
        fc.array(fc.record({ payload_index: fc.constant("53-0-0"), liveview_world_region: fc.object() })),
        value,
      ),
    },
    { requiredKeys: [] },
  );
  const message = fc.record(
    { timestamp: fc.oneof(fc.nat(), value), data: fc.oneof(data, value) },
    { requiredKeys: [] },
  );
  const format = createFormat("vendor_a", { gimbal_yaw_frame: "body" });
  fc.assert(
    fc.property(
      fc.oneof(
        message.map((one) => JSON.stringify(one)),
        fc.json(),
      ),
      (text) => {
        try {
          const { sample } = format.read(text, 1);
          const { hfov, vfov, position, attitude } = sample;
          assert.ok(hfov === null || (hfov > 0 && hfov < 180 && vfov !== null && vfov > 0 && vfov < 180));
          for (const number of [...Object.values(position ?? {}), ...Object.values(attitude ?? {})])
            assert.ok(Number.isFinite(number));
        } catch (error) {
          assert.ok(error instanceof TelemetryFault, String(error));
        }
      },
    ),
  );
});

test("derives 71.5° by 44.1° for 16:9 from a diagonal of 84°", () => {
  // tan(42°) = 0.9004; 4/5 of it across: 2 atan(0.7203) = 71.5°; 9/16 of that: 2 atan(0.4052) = 44.1°.
  for (const payload of ["52-0-0", "53-0-0", "66-0-0", "67-0-0", "80-0-0"]) {
    near(findWideView(payload)?.hfov, 71.5);
    near(findWideView(payload)?.vfov, 44.1);
  }
  near(findWideView("81-0-0")?.hfov, 69.6);
});

test("returns null for unknown cameras", () => {
  for (const payload of ["39-0-7", "0-0-0", "toString", ""]) assert.equal(findWideView(payload), null);
});

test("half of the image covers more than half of the angle", () => {
  // tan(45°) = 1; half of it: 2 atan(0.5) = 53.13°.
  near(narrowView({ hfov: 90, vfov: 90 }, 0.5, 1).hfov, 53.13, 0.005);
  near(narrowView({ hfov: 90, vfov: 90 }, 0.5, 1).vfov, 90, 1e-9);
});
