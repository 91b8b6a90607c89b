import assert from "node:assert/strict";
import { test } from "node:test";
import type { FileReading, FormatParameters } from "./format.ts";
import { readTelemetryFile } from "./formats.ts";

/** The shapes of subtitles by model. Numbers are made up. */
const cue = (text: string, from = "00:00:01,000", to = "00:00:01,033"): string => `7\n${from} --> ${to}\n${text}\n\n`;

function read(text: string, parameters: FormatParameters = {}): readonly FileReading[] {
  const readings = [...readTelemetryFile("dji_srt", Buffer.from(text), parameters)];
  return readings.filter((reading) => reading !== null);
}
const only = (text: string, parameters: FormatParameters = {}): FileReading =>
  read(text, parameters)[0] ?? assert.fail();

const MODELS: readonly (readonly [model: string, text: string, expected: object])[] = [
  [
    "Mavic Pro",
    "HOME(2.1700,41.4000) 2017.08.05 14:11:51\nGPS(2.1712,41.4012,16) BAROMETER:12.5\nISO:100 Shutter:640 EV: 0 Fnum:2.2",
    { latitude: 41.4012, longitude: 2.1712, rel_altitude: 12.5, altitude: 12.5 },
  ],
  [
    "Matrice 300, with the latitude first",
    "GPS(41.4012,2.1712,80.1M) BAROMETER:64.3M",
    { latitude: 41.4012, longitude: 2.1712, rel_altitude: 64.3, altitude: 64.3 },
  ],
  [
    "Mini and Phantom 4 Pro",
    "F/2.8, SS 206.14, ISO 100, EV 0, GPS (2.1712, 41.4012, 15), D 24.11m, H 6.00m, H.S 1.20m/s, V.S 0.00m/s",
    { latitude: 41.4012, longitude: 2.1712, rel_altitude: 6, altitude: 6 },
  ],
  [
    "Phantom 4 RTK",
    "F/5.6, SS 640, ISO 100, EV -0.3, GPS (2.1712, 41.4012, 23), HOME (2.17, 41.4, 12.00m), D 9.00m, H 20.10m, H.S 0.00m/s, V.S 0.00m/s, F.PRY (1.0°, -2.5°, 90.5°), G.PRY (-45.0°, 0.5°, 92.0°)",
    {
      ...{ latitude: 41.4012, longitude: 2.1712, rel_altitude: 20.1, altitude: 20.1 },
      ...{ camera_pitch: -45, camera_roll: 0.5, camera_yaw: 92 },
      ...{ drone_pitch: 1, drone_roll: -2.5, drone_yaw: 90.5 },
    },
  ],
  [
    "Mavic 2 and Air 2S",
    '<font size="36">SrtCnt : 1, DiffTime : 33ms\n2021-12-25 12:27:52,373,808\n[iso : 100] [shutter : 1/640.0] [fnum : 280] [ev : 0] [ct : 5500] [color_md : default] [focal_len : 240] [latitude : 41.4012] [longtitude : 2.1712] [altitude: 67.8] </font>',
    {
      latitude: 41.4012,
      longitude: 2.1712,
      rel_altitude: 67.8,
      altitude: 67.8,
      sensor_hfov: 73.74,
      sensor_vfov: 45.75,
    },
  ],
  [
    "Mavic 3",
    '<font size="28">FrameCnt: 1, DiffTime: 33ms\n2022-08-07 13:40:40.774\n[iso: 110] [shutter: 1/320.0] [fnum: 2.8] [ev: 0] [color_md: default] [focal_len: 24.00] [latitude: 41.401200] [longitude: 2.171200] [rel_alt: 1.300 abs_alt: 255.126] [ct: 5564] </font>',
    {
      latitude: 41.4012,
      longitude: 2.1712,
      rel_altitude: 1.3,
      altitude: 255.126,
      sensor_hfov: 73.74,
      sensor_vfov: 45.75,
    },
  ],
  [
    "Dock 2 (Matrice 3D), with gimbal and zoom",
    "FrameCnt: 1, DiffTime: 33ms\n2024-02-11 08:05:11.123\n[focal_len: 24.00] [dzoom_ratio: 2.00], [latitude: 41.4012] [longitude: 2.1712] [rel_alt: 50.0 abs_alt: 300.0] [gb_yaw: -170.5 gb_pitch: -60.0 gb_roll: 0.0]",
    {
      ...{ latitude: 41.4012, longitude: 2.1712, rel_altitude: 50, altitude: 300 },
      ...{ camera_yaw: -170.5, camera_pitch: -60, camera_roll: 0, sensor_hfov: 41.11, sensor_vfov: 23.82 },
    },
  ],
  [
    "Mavic Air, without a position",
    "[iso : 100] [shutter : 1/60.0] [fnum : 280] [ev : 0] [ct : 5500] [color_md : default]",
    {},
  ],
  [
    "one with its height as Hb",
    "GPS(2.1712,41.4012,16) Hb:3.4 Hs:0.0",
    { latitude: 41.4012, longitude: 2.1712, rel_altitude: 3.4, altitude: 3.4 },
  ],
  ["one without a fix", "GPS(0.0000,0.0000,0) BAROMETER:0.0", { rel_altitude: 0, altitude: 0 }],
];

for (const [model, text, expected] of MODELS)
  test(`reads the subtitles of a ${model}`, () => {
    const { native, videoMs, videoErrorMs } = only(cue(text));
    const { timestamp: _, ...fields } = native;
    const rounded = Object.fromEntries(
      Object.entries(fields).map(([name, value]) => [
        name,
        name.startsWith("sensor") ? Math.round(value * 100) / 100 : value,
      ]),
    );
    assert.deepEqual(rounded, expected);
    assert.deepEqual([videoMs, videoErrorMs], [1000, 16.5]);
  });

test("accepts a byte order mark, other line ends, and a damaged subtitle between others", () => {
  const [, pro = ""] = MODELS[0] ?? [];
  const text = `\uFEFF${cue(pro)}${"8\n00:00:0x,000 --> nonsense\nGPS(1,2,3)\n\n"}${cue(pro, "00:00:02.000", "00:00:02.033")}`;
  for (const file of [text, text.replaceAll("\n", "\r\n")])
    assert.deepEqual(
      read(file).map(({ videoMs }) => videoMs),
      [1000, 2000],
    );
});

test("adds the altitude of the take-off point, and says what is missing", () => {
  const [, pro = ""] = MODELS[0] ?? [];
  const plain = only(cue(pro));
  assert.match(plain.lack ?? "", /no gimbal angles.*sensor_hfov.*takeoff_altitude_m/s);
  const known = only(cue(pro), { takeoff_altitude_m: 100, sensor_hfov: 70, sensor_vfov: 43 });
  assert.deepEqual([known.native.altitude, known.native.rel_altitude, known.native.sensor_hfov], [112.5, 12.5, 70]);
});

test("a gimbal whose yaw is relative to the nose is turned by the yaw of the drone", () => {
  const [, rtk = ""] = MODELS[3] ?? [];
  assert.equal(only(cue(rtk), { gimbal_yaw_frame: "body" }).native.camera_yaw, -177.5);
});

test("ignores a number that is too large for a number", () => {
  const { native } = only(
    cue(`[latitude: 41.4] [longitude: 2.17] [gb_yaw : ${"9".repeat(400)} gb_pitch : -30 gb_roll : 0] [rel_alt: 10]`),
  );
  assert.ok(Object.values(native).every((value) => typeof value !== "number" || Number.isFinite(value)));
});

test("of a value that is named twice, the first counts", () => {
  const { native } = only(cue("[latitude: 41.4] [Latitude: 1] [longitude: 2.17] [LONGITUDE: 3] [rel_alt: 10]"));
  assert.deepEqual([native.latitude, native.longitude], [41.4, 2.17]);
});
