import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { locateFoot, sightOf } from "../../../elements/geolocate/sight.fixture.ts";
import { footprint, MAX_RANGE_M, roundLength, toOffset } from "./ground.ts";

const CORNERS = [
  [0, 0],
  [1, 0],
  [1, 1],
  [0, 1],
] as const;

describe("the footprint matches the geolocation of the frame corners by the service, to a metre at 100 m", () => {
  for (const [yaw, pitch, roll, latitude, longitude] of [
    [0, -90, 0, 0, 0],
    [0, -45, 0, 52, 13],
    [90, -50, 0, -33, 151],
    [217, -60, 15, 64, -21],
    [-30, -50, -20, 41, 2],
    [130, -75, 90, 1, 103],
    [10, -45, 5, -17, 179.9999],
    [270, -45, -5, -17, -179.9999],
  ] as const)
    test(`yaw ${yaw}, pitch ${pitch}, roll ${roll} at ${latitude}, ${longitude}`, () => {
      const pose = { camera_yaw: yaw, camera_pitch: pitch, camera_roll: roll, sensor_hfov: 60, sensor_vfov: 40 };
      const corners = footprint({ ...pose, latitude, longitude, rel_altitude: 100 });
      const sight = sightOf({ yaw, pitch, roll, latitude, longitude });
      for (const [i, [x, y]] of CORNERS.entries()) {
        const { spot } = locateFoot(sight, x, y);
        assert.ok(spot !== null);
        const [east, north] = toOffset({ latitude, longitude }, spot);
        const apart = Math.hypot(east - (corners[i]?.[0] ?? Number.NaN), north - (corners[i]?.[1] ?? Number.NaN));
        assert.ok(apart < 1, `corner ${i}: ${apart} m apart at ${Math.hypot(east, north)} m`);
      }
    });
});

test("limits the footprint of a camera that sees the horizon", () => {
  const level = { camera_yaw: 0, camera_pitch: 0, camera_roll: 0, sensor_hfov: 60, sensor_vfov: 40 };
  const [topLeft, , , bottomLeft] = footprint({ ...level, latitude: 0, longitude: 0, rel_altitude: 100 });
  assert.ok(Math.abs(Math.hypot(...(topLeft ?? [0, 0])) - MAX_RANGE_M) < 1e-6);
  assert.ok(Math.hypot(...(bottomLeft ?? [0, 0])) < 400);
});

test("offsets take the shorter way across the date line", () => {
  const [east] = toOffset({ latitude: 0, longitude: 179.9995 }, { latitude: 0, longitude: -179.9995 });
  assert.ok(Math.abs(east - 111.32) < 0.1, `${east}`);
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
