import assert from "node:assert/strict";
import { test } from "node:test";
import { describeTrack } from "../../schemas/detection-message.ts";
import type { Tracks } from "../../schemas/detections.ts";
import type { Places } from "../../schemas/places.ts";
import { entryAt, HEIGHT, messageAt, START_MS, WIDTH } from "./replay.fixture.ts";
import { Scenes } from "./scenes.ts";

const tracksOf = (scenes: Scenes, timeMs: number, ...ids: readonly number[]): Tracks =>
  scenes.next(
    messageAt(
      START_MS + timeMs,
      ids.map((id) => entryAt(id, 0.5, 0.5)),
    ),
  ).meta.tracks as unknown as Tracks;

test("tracks age from the first message on, and end two seconds after the last, once", () => {
  const scenes = new Scenes();
  const ages = [0, 100, 200].map((timeMs) => tracksOf(scenes, timeMs, 7).objects[0]?.ageMs);
  assert.deepEqual(ages, [0, 100, 200]);
  const times = Array.from({ length: 30 }, (_, index) => 300 + index * 100);
  const ended = times.flatMap((timeMs) => tracksOf(scenes, timeMs, 8).ended.map((id) => [timeMs, id]));
  assert.deepEqual(ended, [[2300, 7]]);
});

test("keeps tracks at one inference every five seconds", () => {
  const scenes = new Scenes();
  const ended = [0, 5000, 10_000, 15_000].flatMap((timeMs) => tracksOf(scenes, timeMs, timeMs === 5000 ? 2 : 1).ended);
  assert.deepEqual(ended, []);
});

test("restores geolocation, and leaves missing values unknown", () => {
  const scenes = new Scenes();
  const placed = { azimuth: -3, elevation: -20, distance: 80, latitude: 52.5, longitude: 13.4, altitude: 35 };
  const entries = [
    entryAt(1, 0.2, 0.5, { ...placed, position_error_m: 2, speed_mps: 1.5 }),
    entryAt(2, 0.5, 0.5, { azimuth: 1, elevation: 2 }),
    entryAt(3, 0.8, 0.5),
  ];
  const { objects } = scenes.next(messageAt(START_MS, entries)).meta.places as unknown as Places;
  assert.deepEqual(
    objects.map((place) => place?.spot?.speedMps ?? place?.azimuth ?? null),
    [1.5, 1, null],
  );
  assert.equal(objects[0]?.spot?.heading, null);
});

test("ignores objects without an id", () => {
  assert.deepEqual(tracksOf(new Scenes(), 0, 0).objects, []);
});

test("an entry is restored as it was recorded, to the last digit", () => {
  const scenes = new Scenes();
  const recorded = { ...entryAt(4, 0.333333, 0.6), bbox: [181.34, 144.01, 64, 72] as [number, number, number, number] };
  const { meta, inputSize } = scenes.next(messageAt(START_MS, [recorded]));
  assert.deepEqual(inputSize, { width: WIDTH, height: HEIGHT });
  const [track] = (meta.tracks as unknown as Tracks).objects;
  const described = describeTrack(track ?? assert.fail(), null, inputSize);
  assert.notDeepEqual(described.bbox, recorded.bbox);
  assert.deepEqual(scenes.restore(described), recorded);
  const moved = { ...described, scaled_bbox: [0, 0, 0.1, 0.2] as [number, number, number, number] };
  assert.equal(scenes.restore(moved), moved);
});
