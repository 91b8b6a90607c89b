import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { TelemetrySample } from "../../schemas/telemetry.ts";
import { describePose, findPose, type JoinSettings } from "./pose.ts";
import { Samples } from "./samples.ts";
import { Series } from "./series.ts";

test("orders values by time for any order of arrival, and keeps the later of two at one time", () => {
  const entry = fc.tuple(fc.integer({ min: 0, max: 50 }), fc.nat());
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 60 }), fc.integer({ min: -1, max: 51 }), (entries, timeMs) => {
      const series = new Series<number>(1000);
      for (const [at, value] of entries) series.put(at, value);
      const latest = [...new Map(entries)].sort((a, b) => a[0] - b[0]);
      const before = latest.findLast(([at]) => at <= timeMs);
      const after = latest.find(([at]) => at > timeMs);
      assert.equal(series.size, latest.length);
      assert.deepEqual(series.find(timeMs), {
        before: before === undefined ? null : { timeMs: before[0], value: before[1] },
        after: after === undefined ? null : { timeMs: after[0], value: after[1] },
      });
    }),
  );
});

test("drops the oldest value beyond the limit", () => {
  const series = new Series<string>(3);
  for (const at of [1, 2, 3, 4]) series.put(at, `${at}`);
  assert.equal(series.size, 3);
  assert.equal(series.first?.timeMs, 2);
  series.cut(4);
  assert.equal(series.first?.timeMs, 4);
  series.cut(9);
  assert.equal(series.size, 0);
});

test("finds values at or around a time, also for Unix milliseconds", () => {
  const start = 1_760_000_000_000;
  const series = new Series<string>(9);
  for (const at of [1, 2, 3]) series.put(start + at, `${at}`);
  assert.equal(series.findAfter(start + 2)?.value, "2");
  assert.equal(series.findAfter(start + 2.5)?.value, "3");
  series.cut(start + 2);
  assert.equal(series.first?.value, "2");
});

const SETTINGS: JoinSettings = { join: "interpolate", extrapolateMs: 3000 };
const BASE: TelemetrySample = {
  timeMs: 0,
  receivedMs: null,
  hfov: 60,
  vfov: 34,
  position: { latitude: 10, longitude: 20, altitude: 200, relAltitude: 100 },
  attitude: { yaw: 0, pitch: -30, roll: 0 },
};

function open(...given: readonly Partial<TelemetrySample>[]) {
  const samples = new Samples();
  for (const one of given) samples.take({ ...BASE, ...one });
  return (timeMs: number, settings = SETTINGS) => {
    const pose = findPose(samples, timeMs, settings);
    return pose === null ? null : describePose(pose, 0, 0);
  };
}

const near = (actual: number | undefined, expected: number, within = 1e-6): void =>
  assert.ok(Math.abs((actual ?? Number.NaN) - expected) <= within, `${actual} is not ${expected}`);
const turned = (timeMs: number, yaw: number) => ({ timeMs, attitude: { yaw, pitch: -30, roll: 0 } });
const placed = (timeMs: number, longitude: number) => ({
  timeMs,
  position: { latitude: 10, longitude, altitude: 200, relAltitude: 100 },
});

test("gives null without samples", () => assert.equal(open()(0), null));

test("interpolates between two samples, with the age of the nearer one", () => {
  const at = open(
    { ...turned(0, 350), ...placed(0, 179.9999), timeMs: 0 },
    { ...turned(1000, 10), ...placed(1000, -179.9999) },
  );
  const quarter = at(250);
  assert.equal(quarter?.method, "between");
  assert.equal(quarter?.ageMs, 250);
  near(quarter?.attitude?.yaw, -5);
  near(quarter?.position?.longitude, 179.99995, 1e-9);
  near(at(750)?.position?.longitude, -179.99995, 1e-9);
  assert.equal(at(750)?.ageMs, 250);
});

test("gives the sample at its own time, without additional error", () => {
  const at = open(turned(0, 10), turned(1000, 20));
  for (const timeMs of [0, 1000]) {
    const joined = at(timeMs);
    assert.equal(joined?.ageMs, 0);
    assert.equal(joined?.method, "between");
    assert.deepEqual(joined?.doubt, { angle: 0, position: 0, height: 0 });
  }
  near(at(1000)?.attitude?.yaw, 20);
});

test("extrapolates after the last sample for a while, with growing error", () => {
  const at = open({ ...placed(0, 20) }, { ...placed(500, 20.0001), ...turned(500, 5), timeMs: 500 });
  const [soon, late] = [at(1000), at(3500)];
  assert.equal(soon?.method, "beyond");
  assert.equal(soon?.ageMs, 500);
  near(soon?.attitude?.yaw, 10);
  near(soon?.position?.longitude, 20.0002, 1e-9);
  assert.ok(soon !== null && late !== null);
  assert.ok(late.doubt.angle > 3 * soon.doubt.angle && late.doubt.position > 3 * soon.doubt.position);
  assert.equal(at(3501)?.position, null);
  assert.equal(at(3501)?.attitude, null);
  assert.equal(at(3501)?.hfov, 60, "a lens stays as it is for longer");
  assert.equal(at(10_501), null);
});

test("extrapolates before the first sample, for the same time", () => {
  const at = open(turned(1000, 10), turned(2000, 20));
  near(at(500)?.attitude?.yaw, 5);
  assert.equal(at(500)?.method, "beyond");
  assert.equal(at(-2001)?.attitude, null);
});

test("does not extrapolate a jump of the position fix", () => {
  const at = open(placed(0, 20), placed(500, 20.1));
  near(at(1500)?.position?.longitude, 20.1);
});

test("measures rates over a minimum baseline", () => {
  const steady = Array.from({ length: 101 }, (_, i) => turned(i * 5, i * 0.05 + (i === 100 ? 0.02 : 0)));
  // The last step alone would give 14 degrees per second instead of 10.
  near(open(...steady)(1500)?.attitude?.yaw, 15.1, 0.05);
});

test("joins position and attitude by their own samples", () => {
  const at = open(
    { ...placed(0, 20), attitude: null },
    { ...turned(100, 10), position: null },
    { ...turned(900, 18), position: null },
    { ...placed(1000, 20.001), attitude: null },
  );
  const joined = at(500);
  near(joined?.attitude?.yaw, 14);
  near(joined?.position?.longitude, 20.0005, 1e-9);
  assert.equal(joined?.ageMs, 500, "the older of the two");
});

test("gives null between samples that are too far apart", () => {
  const at = open(turned(0, 0), turned(20_000, 90));
  assert.notEqual(at(2900)?.attitude, null);
  assert.equal(at(10_000)?.attitude, null);
  assert.notEqual(at(17_100)?.attitude, null);
});

test("fixed telemetry is always valid and has no age", () => {
  const at = open({ timeMs: null });
  const joined = at(1e12);
  assert.deepEqual(joined, {
    method: "fixed",
    ageMs: 0,
    offsetMs: 0,
    hfov: 60,
    vfov: 34,
    position: joined?.position,
    attitude: joined?.attitude,
    doubt: { angle: 0, position: 0, height: 0 },
  });
  near(joined?.position?.latitude, 10, 1e-9);
  near(joined?.attitude?.pitch, -30);
});

test("latest gives the unchanged sample before the frame", () => {
  const at = open(turned(0, 0), turned(1000, 10));
  near(at(999, { ...SETTINGS, join: "latest" })?.attitude?.yaw, 0);
  near(at(1000, { ...SETTINGS, join: "latest" })?.attitude?.yaw, 10);
  near(at(3000, { ...SETTINGS, join: "latest" })?.attitude?.yaw, 10);
  assert.equal(at(-1, { ...SETTINGS, join: "latest" }), null);
});

test("the error of the clock offset adds the motion in that time", () => {
  const samples = new Samples();
  for (const one of [turned(0, 0), turned(1000, 10)]) samples.take({ ...BASE, ...one });
  const pose = findPose(samples, 1000, SETTINGS);
  assert.ok(pose !== null);
  near(describePose(pose, 0, 50).doubt.angle, 0.5, 1e-6);
});
