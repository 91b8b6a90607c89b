import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import type { Track } from "../../schemas/detections.ts";
import { Places } from "../../schemas/places.ts";
import type { FrameTelemetry } from "../../schemas/telemetry.ts";
import { compiledText, start } from "../../test/graph.fixture.ts";
import type { ElementEvent, Frame, FrameMetadata } from "../element.ts";
import { detection, detections, marker, track, tracks } from "../marks.fixture.ts";
import type { Terrain } from "./ground.ts";
import { GeolocateHandler } from "./handler.ts";
import { project } from "./projection.fixture.ts";
import { boxOn, PROPERTIES, telemetryOf } from "./sight.fixture.ts";

const validate = new Ajv2020({ strict: true }).compile(Places);

function open(terrain: Terrain | null = null) {
  const events: ElementEvent[] = [];
  const cameras: ElementEvent[] = [];
  const emit = (event: ElementEvent) => void (event.type === "camera" ? cameras : events).push(event);
  const handler = new GeolocateHandler(PROPERTIES, { emit }, terrain);
  const shoot = (meta: FrameMetadata, ms = 0): Places | undefined => {
    let places: Places | undefined;
    const frame: Partial<Frame> = {
      captureNs: BigInt(Math.round(ms * 1e6)),
      meta,
      write: (part) => {
        places = part.places as Places;
      },
    };
    handler.process(frame as Frame);
    if (places !== undefined) assert.ok(validate(places), JSON.stringify(validate.errors));
    return places;
  };
  return { handler, events, cameras, shoot };
}

const DOWN_45 = telemetryOf({ pitch: -45 });
const ONE = tracks([track(1, boxOn(0.5, 0.5))]);
const without = (part: Partial<FrameTelemetry>): FrameTelemetry => ({ ...DOWN_45, ...part });

test("writes and emits nothing without telemetry", () => {
  const { shoot, events, cameras } = open();
  assert.equal(shoot({ tracks: ONE }), undefined);
  assert.equal(shoot({ tracks: ONE }, 5000), undefined);
  assert.deepEqual([...events, ...cameras], []);
});

test("reports the camera once per second, without objects as well; without an attitude only its position", () => {
  const { shoot, cameras } = open();
  for (const ms of [0, 500, 1000]) shoot({ telemetry: DOWN_45, tracks: tracks([]) }, ms);
  shoot({ telemetry: without({ attitude: null }), tracks: ONE }, 2000);
  assert.deepEqual(
    cameras.map(({ message }) => Object.keys(message as object)),
    [
      ...Array(2).fill(["timestamp", "latitude", "longitude", "altitude", "heading", "footprint"]),
      ["timestamp", "latitude", "longitude", "altitude"],
    ],
  );
});

test("locates every object, in order, with the age of the telemetry", () => {
  const { shoot } = open();
  const places = shoot({ telemetry: DOWN_45, tracks: tracks([track(1, boxOn(0.5, 0.5)), track(2, boxOn(0.9, 0.5))]) });
  assert.equal(places?.mode, "full");
  assert.equal(places?.ageMs, 20);
  const [middle, right] = places?.objects ?? [];
  assert.ok(middle?.spot && right?.spot);
  assert.ok(Math.abs(middle.azimuth) < 1e-9 && right.azimuth > 20);
  assert.ok(Math.abs((middle.distance ?? 0) - 141.42) < 0.01);
  assert.equal(middle.isDistanceEstimated, false);
  assert.ok(middle.spot.longitude < 1e-9 && right.spot.longitude > 0.0001);
  assert.ok(Math.abs(middle.spot.altitude) < 1e-6);
  assert.deepEqual([middle.spot.speedMps, middle.spot.heading], [null, null]);
});

test("locates tracks if there are any, otherwise detections", () => {
  const { shoot } = open();
  const seen = detections([detection(boxOn(0.2, 0.5)), detection(boxOn(0.8, 0.5))]);
  assert.equal(shoot({ telemetry: DOWN_45, detections: seen, tracks: ONE })?.objects.length, 1);
  const places = shoot({ telemetry: DOWN_45, detections: seen });
  assert.ok((places?.objects[0]?.azimuth ?? 0) < 0 && (places?.objects[1]?.azimuth ?? 0) > 0);
  assert.deepEqual(shoot({ telemetry: DOWN_45, detections: detections([]) })?.objects, []);
});

test("with the fields of view alone gives angles, and a distance marked as estimated", () => {
  const { shoot } = open();
  for (const part of [{ position: null }, { attitude: null }, { position: null, attitude: null }]) {
    const places = shoot({
      telemetry: without(part),
      tracks: tracks([track(1, boxOn(0.6, 0.5, 0.02, 0.1)), track(2, boxOn(0.6, 0.5), { className: "gizmo" })]),
    });
    assert.equal(places?.mode, "reduced");
    const [person, gizmo] = places?.objects ?? [];
    // A tenth of 2 tan 20°, about the middle; 0.1 of the way right of it.
    assert.ok(Math.abs((person?.distance ?? 0) - 1.7 / (0.2 * Math.tan(Math.PI / 9))) < 0.3, `${person?.distance}`);
    assert.equal(person?.isDistanceEstimated, true);
    assert.equal(person?.spot, null);
    assert.ok((person?.azimuth ?? 0) > 5);
    assert.deepEqual([gizmo?.distance, gizmo?.isDistanceEstimated], [null, false]);
  }
});

test("an airborne object has the angles of its middle and an estimated distance, but no position", () => {
  const { shoot } = open();
  const bird = track(1, [0.45, 0.45, 0.1, 0.1], { className: "bird" });
  const place = shoot({ telemetry: DOWN_45, tracks: tracks([bird]) })?.objects[0];
  assert.ok(place && Math.abs(place.azimuth) < 1e-9 && Math.abs(place.elevation) < 1e-9);
  assert.equal(place.spot, null);
  assert.equal(place.isDistanceEstimated, true);
});

test("at or above the horizon gives angles only", () => {
  const { shoot } = open();
  const places = shoot({
    telemetry: telemetryOf({ pitch: 0 }),
    tracks: tracks([track(1, boxOn(0.5, 0.4)), track(2, boxOn(0.5, 0.9))]),
  });
  assert.equal(places?.mode, "full");
  const [above, below] = places?.objects ?? [];
  assert.deepEqual([above?.spot, above?.distance, above?.isDistanceEstimated], [null, null, false]);
  assert.ok((above?.elevation ?? 0) > 0);
  assert.ok(below?.spot);
});

test("a terrain replaces level ground, for any relative altitude", () => {
  const { shoot } = open({ heightAt: () => 60 });
  const position = { latitude: 0, longitude: 0, altitude: 100, relAltitude: 0 };
  const place = shoot({ telemetry: without({ position }), tracks: ONE })?.objects[0];
  assert.ok(Math.abs((place?.distance ?? 0) - 40 * Math.SQRT2) < 0.01, `${place?.distance}`);
  assert.ok(Math.abs((place?.spot?.altitude ?? 0) - 60) < 1e-6);
});

test("where the terrain is unknown the ground is level, and the reason says so", () => {
  // Known up to about 111 m north of the camera; a plateau of 20 m. The telemetry has the ground at 0 m.
  const { shoot, events } = open({ heightAt: (latitude) => (latitude < 0.001 ? 20 : Number.NaN) });
  const at = (pitch: number, ms: number) => shoot({ telemetry: telemetryOf({ pitch }), tracks: ONE }, ms)?.objects[0];
  assert.ok(Math.abs((at(-45, 0)?.spot?.altitude ?? 0) - 20) < 1e-6);
  assert.ok(Math.abs(at(-20, 2000)?.spot?.altitude ?? 1) < 1e-6);
  // Outside of the data altogether.
  const outside = telemetryOf({ latitude: 7, pitch: -45 });
  assert.ok(Math.abs(shoot({ telemetry: outside, tracks: ONE }, 4000)?.objects[0]?.spot?.altitude ?? 1) < 1e-6);
  const below = telemetryOf({ altitude: 15, pitch: -45 });
  assert.ok(Math.abs((shoot({ telemetry: below, tracks: ONE }, 6000)?.objects[0]?.spot?.altitude ?? 0) + 85) < 1e-6);
  assert.deepEqual(
    events.map(({ mode, reason }) => [mode, String(reason).split(":")[0]]),
    [
      ["full", "null"],
      ["full", "objects are outside the terrain data"],
      ["full", "there is no terrain data at latitude 7.0, longitude 0.0"],
      ["full", "the camera would be up to 10 m below the terrain, at an altitude of about 20 m"],
    ],
  );
});

test("survives invalid telemetry values", () => {
  const { shoot, events } = open();
  const position = { latitude: 1, longitude: 1, altitude: 50, relAltitude: 0 };
  const attitude = { yaw: Number.NaN, pitch: 0, roll: 0 };
  assert.equal(shoot({ telemetry: without({ position }), tracks: ONE }, 0)?.mode, "reduced");
  assert.equal(shoot({ telemetry: without({ attitude }), tracks: ONE }, 2000)?.mode, "reduced");
  assert.equal(shoot({ telemetry: without({ hfov: 180 }), tracks: ONE }, 4000), undefined);
  assert.equal(shoot({ telemetry: without({ vfov: Number.NaN }), tracks: ONE }, 6000), undefined);
  assert.deepEqual(
    events.map(({ mode, reason }) => [mode, reason]),
    [
      ["reduced", "the camera is not above the ground: rel_altitude is 0 or less"],
      ["reduced", "the telemetry has a position or an attitude that is not a number"],
      ["none", "the telemetry has fields of view that are not between 0 and 180 degrees"],
    ],
  );
});

test("distinguishes late telemetry from missing telemetry", () => {
  const { shoot, events } = open();
  shoot({ telemetry: without({ position: null, attitude: null, isLate: true }), tracks: ONE }, 0);
  shoot({ telemetry: without({ position: null, attitude: null }), tracks: ONE }, 2000);
  assert.match(`${events[0]?.reason}`, /too old for this frame.*`extrapolate-ms`/);
  assert.match(`${events[1]?.reason}`, /has neither/);
});

test("emits a change of mode, reason or offset, at most once per second", () => {
  const { shoot, events } = open();
  const reduced = without({ attitude: null });
  shoot({ telemetry: DOWN_45, tracks: ONE }, 0);
  shoot({ telemetry: reduced, tracks: ONE }, 400);
  shoot({ telemetry: reduced, tracks: ONE }, 800);
  assert.equal(events.length, 1);
  shoot({ telemetry: reduced, tracks: ONE }, 1200);
  shoot({ telemetry: reduced, tracks: ONE }, 2400);
  assert.equal(events.length, 2);
  shoot({ telemetry: without({ attitude: null, offsetMs: 49.6 }), tracks: ONE }, 3600);
  shoot({ telemetry: without({ attitude: null, offsetMs: 50.4 }), tracks: ONE }, 4800);
  shoot({ tracks: ONE }, 6000);
  shoot({ tracks: ONE }, 7200);
  assert.deepEqual(events, [
    { type: "geolocation", mode: "full", reason: null, offsetMs: 0 },
    { type: "geolocation", mode: "reduced", reason: "the telemetry does not have the camera's attitude", offsetMs: 0 },
    { type: "geolocation", mode: "reduced", reason: "the telemetry does not have the camera's attitude", offsetMs: 50 },
    { type: "geolocation", mode: "none", reason: events.at(-1)?.reason, offsetMs: null },
  ]);
  assert.match(`${events.at(-1)?.reason}`, /no telemetry for the time of the frame; .*telemetry_offset_ms/);
});

test("emits at once when the video restarts", () => {
  const { shoot, events } = open();
  shoot({ telemetry: DOWN_45, tracks: ONE }, 5000);
  shoot({ telemetry: without({ position: null }), tracks: ONE }, 100);
  assert.deepEqual(
    events.map(({ mode }) => mode),
    ["full", "reduced"],
  );
});

/** A person walking east at 1.5 m/s along the equator, 100 m north of the camera. */
function walker(ms: number, change: Partial<Track> = {}): Track {
  const longitude = (1.5 * (ms / 1000) - 5) / 111_319.49;
  const camera = { latitude: 0, longitude: 0, height: 100, yaw: 0, pitch: -45, roll: 0 };
  const { x, y } = project(camera, { hfov: 60, vfov: 40 }, { latitude: 100 / 110_574.39, longitude, height: 0 });
  return track(1, boxOn(x, y), change);
}

test("a track gets speed and heading after a while, keeps them while predicted, and loses them when it ends", () => {
  const { shoot } = open();
  const motionAt = (ms: number, change: Partial<Track> = {}, ended: number[] = []) => {
    const places = shoot({ telemetry: DOWN_45, tracks: tracks([walker(ms, change)], { ended }) }, ms);
    const spot = places?.objects[0]?.spot;
    return [spot?.speedMps, spot?.heading] as const;
  };
  assert.deepEqual(motionAt(0), [null, null]);
  for (let ms = 100; ms < 6000; ms += 100) motionAt(ms);
  // Predicted positions do not update the filter.
  const thought = { predicted: true, box: boxOn(0.8, 0.8) };
  for (const [speedMps, heading] of [motionAt(6000), motionAt(6100, thought), motionAt(6200, thought)]) {
    assert.ok(Math.abs((speedMps ?? 0) - 1.5) < 0.05, `${speedMps}`);
    assert.ok(Math.abs((heading ?? 0) - 90) < 2, `${heading}`);
  }
  assert.deepEqual(motionAt(6300, {}, [1]), [null, null]);
});

test("a seek drops the speed", () => {
  const { shoot, handler } = open();
  for (let ms = 0; ms < 5000; ms += 100) shoot({ telemetry: DOWN_45, tracks: tracks([walker(ms)]) }, ms);
  handler.flush();
  const places = shoot({ telemetry: DOWN_45, tracks: tracks([walker(5000)]) }, 5000);
  assert.equal(places?.objects[0]?.spot?.speedMps, null);
});

test("a changed limit and changed errors apply from the next frame on", () => {
  const { shoot, handler } = open();
  handler.update({ ...PROPERTIES, maxDistanceM: 100 });
  assert.equal(shoot({ telemetry: DOWN_45, tracks: ONE })?.objects[0]?.spot, null);
  handler.update({ ...PROPERTIES, positionErrorM: 100 });
  assert.ok((shoot({ telemetry: DOWN_45, tracks: ONE })?.objects[0]?.spot?.errorM ?? 0) > 100);
});

test("in a graph, positions reach the detection message", async () => {
  const sent: { active_tracks: { latitude?: number; position_error_m?: number }[] }[] = [];
  const mark = marker(() => ({ tracks: ONE, telemetry: DOWN_45 }));
  const text = `
graph: located
about: One object and its place.
chains:
  main:
    - source: { uri: "test:smpte?frames=2" }
    - decode
    - mark
    - geolocate
    - detections
`;
  const graph = await start(compiledText(text, mark), [mark], {
    send: async (_node, _channel, message) => void sent.push(message as never),
  });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  assert.deepEqual(
    sent.map(({ active_tracks: [entry] }) => entry?.latitude),
    [0.0009044, 0.0009044],
  );
  assert.ok((sent[0]?.active_tracks[0]?.position_error_m ?? 0) > 2);
});
