import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { CameraReport } from "../../schemas/camera-message.ts";
import type { ElementEvent } from "../element.ts";
import { CameraReporter } from "./camera-reporter.ts";
import { findFootprint } from "./footprint.ts";
import { type Flown, locateFoot, sightOf, telemetryOf } from "./sight.fixture.ts";

const METRES_PER_DEGREE = 111_195;

/** Metres east and north of the camera. */
function offsetOf({ latitude = 0, longitude = 0 }: Flown, [north, east]: readonly [number, number]) {
  const degrees = ((((east - longitude + 180) % 360) + 360) % 360) - 180;
  return [
    degrees * METRES_PER_DEGREE * Math.cos((latitude * Math.PI) / 180),
    (north - latitude) * METRES_PER_DEGREE,
  ] as const;
}

/** Of the frame, and their place among the points. */
const CORNERS = [
  [0, 0, 0],
  [4, 1, 0],
  [8, 1, 1],
  [12, 0, 1],
] as const;

describe("its corners are where objects in the corners of the frame are", () => {
  for (const flown of [
    { yaw: 0, pitch: -90 },
    { yaw: 90, pitch: -50, latitude: -33, longitude: 151 },
    { yaw: 217, pitch: -60, roll: 15, latitude: 64, longitude: -21 },
    { yaw: 10, pitch: -45, roll: 5, latitude: -17, longitude: 179.9999 },
  ])
    for (const terrain of [null, { heightAt: (latitude: number) => (latitude - (flown.latitude ?? 0)) * 20_000 }])
      test(`${JSON.stringify(flown)}${terrain === null ? "" : " on a slope"}`, () => {
        const sight = sightOf({ ...flown, altitude: 100 }, {}, terrain);
        const points = findFootprint(sight, 100) ?? assert.fail();
        assert.equal(points.length, 16);
        for (const [index, x, y] of CORNERS) {
          const { spot } = locateFoot(sight, x, y);
          const point = points[index] ?? assert.fail();
          assert.ok(spot !== null);
          const [east, north] = offsetOf(flown, point);
          const [eastToo, northToo] = offsetOf(flown, [spot.latitude, spot.longitude]);
          assert.ok(Math.hypot(east - eastToo, north - northToo) < 0.01, `corner ${index}`);
        }
      });
});

test("ends some kilometres away if the frame has the horizon, farther from higher up", () => {
  for (const [aboveM, rangeM] of [
    [100, 3000],
    [1000, 8000],
  ] as const) {
    const sight = sightOf({ pitch: -5, altitude: aboveM, relAltitude: aboveM });
    const distances = (findFootprint(sight, aboveM) ?? assert.fail()).map((point) =>
      Math.hypot(...offsetOf({}, point)),
    );
    assert.ok(Math.abs(Math.max(...distances) - rangeM) < rangeM * 0.01, `${Math.max(...distances)}`);
    assert.ok(Math.min(...distances) < 3 * aboveM);
  }
});

test("has no spikes where the terrain data ends", () => {
  for (let edge = -0.0005; edge < 0.0005; edge += 0.00002) {
    // Slightly lower than the telemetry says.
    const terrain = { heightAt: (_: number, longitude: number) => (longitude < edge ? -0.4 : Number.NaN) };
    const points = findFootprint(sightOf({ pitch: -60 }, {}, terrain), 100) ?? assert.fail();
    const farthest = Math.max(...points.map((point) => Math.hypot(...offsetOf({}, point))));
    assert.ok(farthest < 200, `${farthest} m with the edge at ${edge}`);
  }
});

test("there is none without ground in the frame, and without a pose", () => {
  assert.equal(findFootprint(sightOf({ pitch: 45 }), 100), null);
  assert.equal(findFootprint({ ...sightOf({}), world: null }, 100), null);
});

function report(...frames: readonly (readonly [ms: number, flown: Flown])[]): readonly CameraReport[] {
  const events: ElementEvent[] = [];
  const reporter = new CameraReporter((event) => void events.push(event));
  for (const [ms, flown] of frames) reporter.update(BigInt(ms) * 1_000_000n, telemetryOf(flown), sightOf(flown));
  return events.map(({ message }) => message as unknown as CameraReport);
}

test("the camera is reported once per second of video, and at once when the video restarts", () => {
  const down = { pitch: -60 };
  const times = report([0, down], [40, down], [999, down], [1000, down], [2500, down], [100, down]);
  assert.deepEqual(
    times.map(({ timestamp }) => Date.parse(timestamp)),
    [0, 1000, 2500, 100],
  );
});

test("the heading is from 0 to 360 degrees; a footprint across the date line has longitudes of both sides", () => {
  const [camera] = report([0, { yaw: -90.02, pitch: -45, latitude: -17, longitude: 179.9999 }]);
  assert.equal(camera?.heading, 270);
  const [across] = report([0, { yaw: 90, pitch: -45, latitude: -17, longitude: 179.9999 }]);
  const longitudes = across?.footprint?.map(([, longitude]) => longitude) ?? [];
  assert.ok(longitudes.length === 16 && longitudes.every((longitude) => Math.abs(longitude) <= 180));
  assert.ok(longitudes.some((longitude) => longitude < 0));
});

test("nothing is reported without a position, or with one that is too old", () => {
  const events: ElementEvent[] = [];
  const reporter = new CameraReporter((event) => void events.push(event));
  reporter.update(0n, { ...telemetryOf({}), position: null }, sightOf({}));
  reporter.update(0n, { ...telemetryOf({}), isLate: true }, sightOf({}));
  assert.deepEqual(events, []);
});
