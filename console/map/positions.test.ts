import assert from "node:assert/strict";
import { test } from "node:test";
import type { DetectionMessage, TrackEntry } from "../../client/client.ts";
import { boundsOf, gridLines, nearLongitude, needsFit, roundLength } from "./positions.ts";
import { Scene } from "./scene.ts";

const UUID = "0198c0de-0000-7000-8000-000000000001";
const OTHER = "0198c0de-0000-7000-8000-000000000002";
const TIME = "2026-11-15T12:00:00.000Z";

const messageOf = (track_id: number, latitude: number, longitude: number): DetectionMessage => ({
  ...{ timestamp: TIME, source_uri: "clip", process_uuid: UUID },
  active_tracks: [{ track_id, class_name: "car", latitude, longitude } as TrackEntry],
});

test("longitudes are on the side of the date line where the reference is", () => {
  for (const [longitude, reference, near] of [
    [-179.9, 179.9, 180.1],
    [179.9, -179.9, -180.1],
    [10, 20, 10],
    [10, 730, 730],
  ] as const)
    assert.ok(Math.abs(nearLongitude(longitude, reference) - near) < 1e-9);
});

test("an empty scene has no bounds", () => assert.equal(boundsOf(new Scene()), null));

test("bounds have all trails and cameras, also across the date line", () => {
  const scene = new Scene();
  scene.addCamera({ timestamp: TIME, process_uuid: UUID, latitude: -17, longitude: 179.999, altitude: 12 });
  scene.addDetections(messageOf(1, -17.001, -179.999), 0);
  scene.addDetections(messageOf(1, -16.999, -179.998), 0);
  const { south, west, north, east } = boundsOf(scene) ?? assert.fail();
  assert.deepEqual([south, north, west], [-17.001, -16.999, 179.999]);
  assert.ok(Math.abs(east - 180.002) < 1e-9);
});

test("a footprint to the horizon is fitted as far as it is near", () => {
  const scene = new Scene();
  const footprint: [number, number][] = [
    [0.02, -0.01],
    [0.02, 0.01],
    [0.0005, 0.0002],
    [0.0005, -0.0002],
  ];
  scene.addCamera({ timestamp: TIME, process_uuid: UUID, latitude: 0, longitude: 0, altitude: 100, footprint });
  assert.equal(boundsOf(scene)?.north, 0.0005);
});

test("the view follows what leaves it, and what has become small in it", () => {
  const view = { south: 0, west: 0, north: 10, east: 10 };
  for (const [bounds, isNeeded] of [
    [{ south: 2, west: 2, north: 8, east: 8 }, false],
    [{ south: 2, west: 2, north: 8, east: 11 }, true],
    [{ south: 2, west: 362, north: 8, east: 368 }, false],
    [{ south: 4.9, west: 4.9, north: 5.1, east: 5.1 }, true],
  ] as const)
    assert.equal(needsFit(bounds, view), isNeeded, JSON.stringify(bounds));
});

test("what a process reports about its camera takes precedence over its telemetry", () => {
  const scene = new Scene();
  scene.addDrone(UUID, { timestamp: 0, latitude: 1, longitude: 2, camera_yaw: 90 });
  assert.deepEqual(scene.cameras.get(UUID), { latitude: 1, longitude: 2, heading: 90 });
  scene.addCamera({ timestamp: TIME, process_uuid: UUID, latitude: 1.5, longitude: 2, altitude: 3, heading: 95 });
  scene.addDrone(UUID, { timestamp: 0, latitude: 1, longitude: 2 });
  scene.addDrone(OTHER, { timestamp: 0, camera_yaw: 2 });
  assert.deepEqual([...scene.cameras], [[UUID, { latitude: 1.5, longitude: 2, altitude: 3, heading: 95 }]]);
});

test("tracks disappear 30 s after the last detection, and with their process", () => {
  const scene = new Scene();
  scene.addDetections(messageOf(1, 1, 1), 0);
  scene.addDetections(messageOf(2, 1, 1), 20_000);
  scene.expire(30_001);
  assert.deepEqual([...scene.tracks.keys()], [`${UUID} 2`]);
  const { version } = scene;
  scene.retain([OTHER]);
  assert.equal(scene.tracks.size, 0);
  assert.ok(scene.version > version);
});

test("rounds lengths down to 1, 2 or 5 times a power of ten", () => {
  for (const [max, length] of [
    [1, 1],
    [4.9, 2],
    [50, 50],
    [180, 100],
    [0.3, 0.2],
  ] as const)
    assert.equal(roundLength(max), length);
});

test("grid lines are multiples of a round step", () => {
  assert.deepEqual(gridLines(-0.5, 9.5, 5), [0, 2, 4, 6, 8]);
  assert.deepEqual(gridLines(179, 181, 4), [179, 179.5, 180, 180.5, 181]);
  assert.ok(gridLines(0, 1e9, 1e6).length <= 100);
});
