import assert from "node:assert/strict";
import { test } from "node:test";
import { splitLine } from "./flight-csv.ts";
import { type FileReading, type FormatParameters, TelemetryFault } from "./format.ts";
import { readTelemetryFile } from "./formats.ts";

const read = (text: string, parameters: FormatParameters = {}): readonly FileReading[] =>
  [...readTelemetryFile("flight_csv", Buffer.from(text), parameters)].filter((reading) => reading !== null);

/** The columns of AirData, as far as they are used; numbers are made up. */
const HEADER =
  "time(millisecond),datetime(utc),latitude,longitude,height_above_takeoff(feet),altitude_above_seaLevel(feet),speed(mph),compass_heading(degrees), pitch(degrees), roll(degrees),isPhoto,isVideo,gimbal_heading(degrees),gimbal_pitch(degrees),gimbal_roll(degrees),message";
const rows = [
  "0,2026-05-01 10:00:00,41.4,2.17,0,328.084,0,90,0,0,0,0,90,0,0,",
  '100,2026-05-01 10:00:00,41.4,2.17,10,338.084,10,90,1,-1,0,1,350,-45,0,"Recording, started"',
  "200,2026-05-01 10:00:00,41.4001,2.17,20,348.084,10,90,1,-1,0,1,10,-45,0,",
];

test("reads a flight log of AirData in feet and miles per hour", () => {
  const [first, second, third] = read([HEADER, ...rows].join("\r\n"), { sensor_hfov: 71.5, sensor_vfov: 44 });
  const startMs = Date.UTC(2026, 4, 1, 10);
  assert.deepEqual(
    [first, second, third].map((reading) => reading?.sample.timeMs),
    [startMs, startMs + 100, startMs + 200],
  );
  assert.deepEqual(
    [first, second, third].map((reading) => reading?.isRecording),
    [false, true, true],
  );
  const { native, lack } = second ?? assert.fail();
  assert.equal(lack, null);
  assert.ok(Math.abs((native.rel_altitude ?? 0) - 3.048) < 1e-9);
  assert.ok(Math.abs((native.altitude ?? 0) - 103.048) < 1e-3);
  assert.ok(Math.abs((native.speed ?? 0) - 4.4704) < 1e-9);
  assert.deepEqual([native.camera_yaw, native.camera_pitch, native.drone_yaw], [-10, -45, 90]);
});

test("reads columns with native names, in metres, with semicolons", () => {
  const [reading] = read(
    "timestamp;latitude;longitude;altitude;rel_altitude;camera_yaw;camera_pitch;camera_roll;sensor_hfov;sensor_vfov\n1760000000.5;41.4;2.17;180;60;120;-45;1;60;34\n",
  );
  assert.equal(reading?.lack, null);
  assert.deepEqual(reading?.sample.position, { latitude: 41.4, longitude: 2.17, altitude: 180, relAltitude: 60 });
  assert.equal(reading?.sample.timeMs, 1_760_000_000_500);
});

test("passes over rows without a fix or a time, and over cells that are not numbers", () => {
  const readings = read(
    ["time(millisecond),latitude,longitude", "x,41,2", "100,0,0", "200,n/a,2", "300,91,2", "400,41,2"].join("\n"),
  );
  assert.deepEqual(
    readings.map(({ sample, native }) => [sample.timeMs, native.latitude ?? null]),
    [
      [100, null],
      [200, null],
      [300, null],
      [400, 41],
    ],
  );
});

for (const [what, text, expected] of [
  ["without a header", "1,2,3\n".repeat(8), /header has columns for time, latitude and longitude/],
  ["that is empty", "", /header/],
  [
    "with an unknown unit",
    "time(millisecond),latitude,longitude,altitude(fathoms)\n1,2,3,4",
    /unknown unit "fathoms".*feet/,
  ],
] as const)
  test(`rejects a file ${what}`, () =>
    assert.throws(
      () => read(text),
      (error: unknown) => error instanceof TelemetryFault && expected.test(error.message),
    ));

test("splits quoted cells", () => {
  assert.deepEqual(splitLine('a,"b,""c""",d', ","), ["a", 'b,"c"', "d"]);
  assert.deepEqual(splitLine("a,b,", ","), ["a", "b", ""]);
});
