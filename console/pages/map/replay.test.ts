import assert from "node:assert/strict";
import { test } from "node:test";
import type { CameraMessage, DetectionMessage, TrackEntry } from "../../../client/client.ts";
import { Scene } from "../../map/scene.ts";
import { barsOf, PART_MS, Replay, rangeOf, readLines, type TimeRange } from "./replay.ts";

const UUID = "0198c0de-0000-7000-8000-000000000001";
const START_MS = Date.parse("2026-11-15T12:00:00Z");
const { signal } = new AbortController();
const at = (ms: number): string => new Date(ms).toISOString();

/** A car that drives north, with a message and a camera position every second. */
const messageAt = (ms: number): DetectionMessage => ({
  ...{ timestamp: at(ms), source_uri: "clip", process_uuid: UUID },
  active_tracks: [{ track_id: 1, class_name: "car", latitude: (ms - START_MS) / 1e9, longitude: 11 } as TrackEntry],
});
const cameraAt = (ms: number): CameraMessage => ({
  ...{ timestamp: at(ms), process_uuid: UUID, latitude: 48, longitude: 11, altitude: (ms - START_MS) / 1000 },
});

function open(lastMs = Number.POSITIVE_INFINITY) {
  const asked: TimeRange[] = [];
  const clock = { ms: Number.POSITIVE_INFINITY };
  const replay = new Replay(
    async (range) => {
      asked.push(range);
      const times = Array.from({ length: 60 }, (_, i) => range.fromMs + i * 1000).filter(
        (ms) => ms >= START_MS && ms <= lastMs,
      );
      return { detections: times.map(messageAt), cameras: times.map(cameraAt) };
    },
    () => clock.ms,
  );
  const scene = new Scene();
  const show = async (ms: number) => {
    await replay.prepare(ms, signal);
    replay.show(scene, ms);
    return scene.tracks.get(`${UUID} 1`)?.trail.map(({ latitude }) => Math.round(latitude * 1e6)) ?? [];
  };
  return { replay, scene, show, asked, clock };
}

test("a time has the trail of the last 30 seconds, across parts, and the camera of that time", async () => {
  const { scene, show, asked } = open();
  const trail = await show(START_MS + 70_500);
  assert.deepEqual([trail[0], trail.at(-1), trail.length], [41, 70, 30]);
  assert.equal(scene.cameras.get(UUID)?.altitude, 70);
  assert.equal(asked.length, 2);
  assert.deepEqual((await show(START_MS + 5_500)).length, 6);
  assert.equal(scene.cameras.get(UUID)?.altitude, 5);
});

test("going back shows what was, not what came later; loaded parts are not loaded again", async () => {
  const { show, asked } = open();
  await show(START_MS + 100_000);
  const before = asked.length;
  assert.deepEqual((await show(START_MS + 95_000)).at(-1), 95);
  assert.equal(asked.length, before);
});

test("tracks and the camera disappear after the last message", async () => {
  const { scene, show } = open(START_MS + 10_000);
  await show(START_MS + 12_000);
  assert.deepEqual([scene.tracks.size, scene.cameras.size], [1, 1]);
  await show(START_MS + 30_000);
  assert.deepEqual([scene.tracks.size, scene.cameras.size], [1, 0]);
  await show(START_MS + 45_000);
  assert.equal(scene.tracks.size, 0);
});

test("keeps a limited number of parts", async () => {
  const { replay, show } = open();
  for (let i = 0; i < 30; i++) await show(START_MS + i * PART_MS + 45_000);
  assert.ok(!replay.isReady(START_MS + 45_000));
  assert.ok(replay.isReady(START_MS + 29 * PART_MS + 45_000));
});

test("the last part of a running process is loaded again for times after it was loaded", async () => {
  const { replay, show, asked, clock } = open();
  clock.ms = START_MS + 45_000;
  await show(START_MS + 40_000);
  const before = asked.length;
  await show(START_MS + 45_000);
  assert.equal(asked.length, before);
  clock.ms = START_MS + 50_000;
  assert.ok(!replay.isReady(START_MS + 46_000));
  await show(START_MS + 46_000);
  await show(START_MS + 49_000);
  assert.equal(asked.length, before + 1);
});

test("the range of a process ends now, when it finished, or with its video", () => {
  const started_at = at(START_MS);
  const end = (finished_at: string | null, durationMs: number | null) =>
    (rangeOf({ started_at, finished_at }, durationMs, START_MS + 9_000)?.toMs ?? 0) - START_MS;
  assert.equal(end(null, null), 9_000);
  assert.equal(end(at(START_MS + 5_000), null), 5_000);
  assert.equal(end(at(START_MS + 5_000), 60_000), 60_000);
  assert.equal(end(at(START_MS), 0), 1_000);
  assert.equal(rangeOf({ started_at: null, finished_at: null }, null, 0), null);
});

test("reads one message per line", () => assert.deepEqual(readLines('{"a":1}\n{"a":2}\n'), [{ a: 1 }, { a: 2 }]));

test("times with tracks are shares of the range, joined where they meet", () => {
  const bars = (...spans: readonly (readonly [number, number])[]) =>
    barsOf(
      spans.map(([fromMs, toMs]) => ({ fromMs, toMs })),
      { fromMs: 1_000, toMs: 2_000 },
    ).map(({ left, width }) => [left, width]);
  assert.deepEqual(bars([1_100, 1_200], [1_500, 1_600]), [
    [10, 10],
    [50, 10],
  ]);
  assert.deepEqual(bars([1_500, 1_700], [1_100, 1_600]), [[10, 60]]);
  assert.deepEqual(bars([500, 1_100], [1_900, 5_000], [3_000, 4_000]), [
    [0, 10],
    [90, 10],
  ]);
});
