import assert from "node:assert/strict";
import { test } from "node:test";
import type { DetectionMessage, TrackEntry } from "../../../client/client.ts";
import { toOffset } from "./ground.ts";
import { fit, type Look, move, type Pixel, toPixel, zoomAt } from "./look.ts";
import { Scene } from "./scene.ts";

const SIZE = { width: 800, height: 600 };
const LOOK: Look = { origin: { latitude: 52, longitude: 13 }, centre: [10, -20], metresPerPixel: 0.5 };
const UUID = "0198c0de-0000-7000-8000-000000000001";

const tell = (track_id: number, latitude: number, longitude: number): DetectionMessage => ({
  ...{ timestamp: "2026-11-15T12:00:00.000Z", source_uri: "clip", process_uuid: UUID },
  active_tracks: [{ track_id, class_name: "car", latitude, longitude } as TrackEntry],
});

const near = (a: Pixel, b: Pixel): void =>
  assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1]) < 1e-6, `${a} is not at ${b}`);

test("north is up, and the middle of the map is what is looked at", () => {
  near(toPixel(LOOK, SIZE, [10, -20]), [400, 300]);
  near(toPixel(LOOK, SIZE, [10, 30]), [400, 200]);
  near(toPixel(LOOK, SIZE, [60, -20]), [500, 300]);
});

test("zooming keeps what is below the cursor where it is", () => {
  for (const at of [
    [0, 0],
    [700, 100],
    [400, 300],
  ] as const) {
    const place = [10 + (at[0] - 400) * 0.5, -20 - (at[1] - 300) * 0.5] as const;
    for (const factor of [0.5, 0.87, 3]) near(toPixel(zoomAt(LOOK, SIZE, at, factor), SIZE, place), at);
  }
});

test("zooming ends somewhere, both ways", () => {
  assert.equal(zoomAt(LOOK, SIZE, [0, 0], 1e-9).metresPerPixel, 0.01);
  assert.equal(zoomAt(LOOK, SIZE, [0, 0], 1e9).metresPerPixel, 20_000);
});

test("the world goes along with the hand", () => {
  near(toPixel(move(LOOK, [30, -40]), SIZE, [10, -20]), [430, 260]);
});

test("nothing with a place cannot be fitted", () => assert.equal(fit(new Scene(), SIZE), null));

test("everything that has a place is on the map, also across the date line", () => {
  const scene = new Scene();
  scene.addDrone(UUID, {
    ...{ timestamp: 1, latitude: -17, longitude: 179.9998, rel_altitude: 80, altitude: 80 },
    ...{ camera_yaw: 45, camera_pitch: -30, camera_roll: 0, sensor_hfov: 60, sensor_vfov: 40 },
  });
  for (let i = 0; i < 10; i++) scene.addDetections(tell(i, -17 + i * 1e-4, -179.9999 + i * 1e-4), 0);
  const look = fit(scene, SIZE);
  assert.ok(look !== null);
  assert.ok(look.metresPerPixel < 1, `${look.metresPerPixel} metres a pixel`);
  const spots = [...scene.cameras.values(), ...[...scene.tracks.values()].flatMap(({ trail }) => trail)];
  for (const spot of spots) {
    const [x, y] = toPixel(look, SIZE, toOffset(look.origin, spot));
    assert.ok(x > 20 && x < 780 && y > 20 && y < 580, `${x}, ${y}`);
  }
});

test("a scene tells by its version that it changed: with places, and with tracks that go", () => {
  const scene = new Scene();
  scene.addDetections({ ...tell(1, 0, 0), active_tracks: [] }, 0);
  assert.equal(scene.version, 0);
  scene.addDetections(tell(1, 0, 0), 0);
  const { version } = scene;
  assert.ok(version > 0);
  scene.forget(29_000);
  assert.deepEqual([scene.tracks.size, scene.version], [1, version]);
  scene.forget(31_000);
  assert.equal(scene.tracks.size, 0);
  assert.ok(scene.version > version);
});

test("what a process told goes with it, and trails have an end", () => {
  const scene = new Scene();
  for (let i = 0; i < 500; i++) scene.addDetections(tell(1, 0, i * 1e-5), 0);
  assert.equal([...scene.tracks.values()][0]?.trail.length, 200);
  scene.keep([]);
  assert.deepEqual([scene.tracks.size, scene.cameras.size], [0, 0]);
});
