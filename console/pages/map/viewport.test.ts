import assert from "node:assert/strict";
import { test } from "node:test";
import type { DetectionMessage, TrackEntry } from "../../../client/client.ts";
import { toOffset } from "./ground.ts";
import { Scene } from "./scene.ts";
import { fit, type Pixel, pan, toPixel, type Viewport, zoomAt } from "./viewport.ts";

const SIZE = { width: 800, height: 600 };
const VIEWPORT: Viewport = { origin: { latitude: 52, longitude: 13 }, centre: [10, -20], metresPerPixel: 0.5 };
const UUID = "0198c0de-0000-7000-8000-000000000001";

const messageOf = (track_id: number, latitude: number, longitude: number): DetectionMessage => ({
  ...{ timestamp: "2026-11-15T12:00:00.000Z", source_uri: "clip", process_uuid: UUID },
  active_tracks: [{ track_id, class_name: "car", latitude, longitude } as TrackEntry],
});

const near = (a: Pixel, b: Pixel): void =>
  assert.ok(Math.hypot(a[0] - b[0], a[1] - b[1]) < 1e-6, `${a} is not at ${b}`);

test("draws north up, around the centre", () => {
  near(toPixel(VIEWPORT, SIZE, [10, -20]), [400, 300]);
  near(toPixel(VIEWPORT, SIZE, [10, 30]), [400, 200]);
  near(toPixel(VIEWPORT, SIZE, [60, -20]), [500, 300]);
});

test("zooming keeps the position below the cursor", () => {
  for (const at of [
    [0, 0],
    [700, 100],
    [400, 300],
  ] as const) {
    const offset = [10 + (at[0] - 400) * 0.5, -20 - (at[1] - 300) * 0.5] as const;
    for (const factor of [0.5, 0.87, 3]) near(toPixel(zoomAt(VIEWPORT, SIZE, at, factor), SIZE, offset), at);
  }
});

test("zooming is limited both ways", () => {
  assert.equal(zoomAt(VIEWPORT, SIZE, [0, 0], 1e-9).metresPerPixel, 0.01);
  assert.equal(zoomAt(VIEWPORT, SIZE, [0, 0], 1e9).metresPerPixel, 20_000);
});

test("panning moves the map along with the pointer", () => {
  near(toPixel(pan(VIEWPORT, [30, -40]), SIZE, [10, -20]), [430, 260]);
});

test("does not fit an empty scene", () => assert.equal(fit(new Scene(), SIZE), null));

test("fits all positions, also across the date line", () => {
  const scene = new Scene();
  scene.addDrone(UUID, {
    ...{ timestamp: 1, latitude: -17, longitude: 179.9998, rel_altitude: 80, altitude: 80 },
    ...{ camera_yaw: 45, camera_pitch: -30, camera_roll: 0, sensor_hfov: 60, sensor_vfov: 40 },
  });
  for (let i = 0; i < 10; i++) scene.addDetections(messageOf(i, -17 + i * 1e-4, -179.9999 + i * 1e-4), 0);
  const viewport = fit(scene, SIZE);
  assert.ok(viewport !== null);
  assert.ok(viewport.metresPerPixel < 1, `${viewport.metresPerPixel} metres per pixel`);
  const positions = [...scene.cameras.values(), ...[...scene.tracks.values()].flatMap(({ trail }) => trail)];
  for (const position of positions) {
    const [x, y] = toPixel(viewport, SIZE, toOffset(viewport.origin, position));
    assert.ok(x > 20 && x < 780 && y > 20 && y < 580, `${x}, ${y}`);
  }
});

test("the version of a scene changes with positions and with expired tracks", () => {
  const scene = new Scene();
  scene.addDetections({ ...messageOf(1, 0, 0), active_tracks: [] }, 0);
  assert.equal(scene.version, 0);
  scene.addDetections(messageOf(1, 0, 0), 0);
  const { version } = scene;
  assert.ok(version > 0);
  scene.expire(29_000);
  assert.deepEqual([scene.tracks.size, scene.version], [1, version]);
  scene.expire(31_000);
  assert.equal(scene.tracks.size, 0);
  assert.ok(scene.version > version);
});

test("limits trails, and removes the tracks of other processes", () => {
  const scene = new Scene();
  for (let i = 0; i < 500; i++) scene.addDetections(messageOf(1, 0, i * 1e-5), 0);
  assert.equal([...scene.tracks.values()][0]?.trail.length, 200);
  scene.retain([]);
  assert.deepEqual([scene.tracks.size, scene.cameras.size], [0, 0]);
});
