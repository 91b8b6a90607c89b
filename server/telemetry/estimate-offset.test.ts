import assert from "node:assert/strict";
import { test } from "node:test";
import { estimateOffset, type TelemetryTimes, type VideoTimes } from "./estimate-offset.ts";

const T0 = Date.UTC(2026, 4, 1, 10);
const LOG: TelemetryTimes = { firstMs: T0, lastMs: T0 + 600_000, videoErrorMs: null, recordings: [] };
const VIDEO: VideoTimes = { durationMs: 60_000, recordedMs: null };
const span = (from: number, seconds: number) => ({
  fromMs: T0 + from * 1000,
  toMs: T0 + (from + seconds) * 1000,
  stepMs: 100,
});

const CASES: readonly (readonly [string, Partial<TelemetryTimes>, Partial<VideoTimes>, number | null, object])[] = [
  [
    "what the user states",
    { videoErrorMs: 16 },
    {},
    -12_000,
    { offsetMs: -12_000 - T0, method: "given", errorMs: 250 },
  ],
  ["times in the video", { videoErrorMs: 16 }, {}, null, { offsetMs: 0, method: "video_time", errorMs: 16 }],
  [
    "the only recording",
    { recordings: [span(120, 58)] },
    {},
    null,
    { offsetMs: -(T0 + 120_000), method: "recording_flag" },
  ],
  [
    "the recording that is as long as the video",
    { recordings: [span(10, 20), span(120, 61), span(300, 200)] },
    {},
    null,
    { offsetMs: -(T0 + 120_000), method: "recording_flag" },
  ],
  [
    "the creation time where two recordings are equally long",
    { recordings: [span(10, 60), span(120, 60)] },
    { recordedMs: T0 + 120_000 },
    null,
    { offsetMs: -(T0 + 120_000), method: "creation_time", errorMs: 700 },
  ],
  [
    "the creation time within the flight",
    {},
    { recordedMs: T0 + 30_000 },
    null,
    { offsetMs: -(T0 + 30_000), method: "creation_time" },
  ],
  [
    "the same start if the creation time is of another day",
    { lastMs: T0 + 60_500 },
    { recordedMs: T0 + 86_400_000 },
    null,
    { offsetMs: -T0, method: "same_start", errorMs: 500 },
  ],
  ["the same start", {}, {}, null, { offsetMs: -T0, method: "same_start" }],
];

for (const [what, telemetry, video, givenMs, expected] of CASES)
  test(`aligns by ${what}`, () => {
    const found = estimateOffset({ ...LOG, ...telemetry }, { ...VIDEO, ...video }, givenMs);
    assert.deepEqual({ ...found, ...expected }, found);
    assert.ok(found.errorMs > 0 && Number.isFinite(found.errorMs));
  });

test("the error grows with the difference of the lengths", () => {
  const errorOf = (lastMs: number) => estimateOffset({ ...LOG, lastMs: T0 + lastMs }, VIDEO, null).errorMs;
  assert.ok(errorOf(60_000) < errorOf(90_000) && errorOf(90_000) < errorOf(600_000));
});
