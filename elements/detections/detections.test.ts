import assert from "node:assert/strict";
import { test } from "node:test";
import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import type { Box } from "../../schemas/detections.ts";
import type { JsonRecord } from "../../schemas/json.ts";
import type { Place, Places } from "../../schemas/places.ts";
import { compiledText, start } from "../../test/graph.fixture.ts";
import type { Frame, FrameMetadata, Services } from "../element.ts";
import { detection, detections, marker, track, tracks } from "../marks.fixture.ts";
import element from "./detections.ts";

const validate = new Ajv2020({ strict: true }).compile(DetectionMessage);
const job = { uuid: "00000000-0000-0000-0000-000000000000", sourceUri: "rtsp://cam-3/main", live: true };
const HALF: Box = [0.25, 0.5, 0.125, 0.25];

async function run(includePredicted = false) {
  const sent: DetectionMessage[] = [];
  const send = async (channel: string, message: JsonRecord) => {
    assert.equal(channel, "detection_data");
    assert.ok(validate(message), JSON.stringify(validate.errors));
    sent.push(message as DetectionMessage);
  };
  assert.equal(element.kind, "sink");
  const handler = await element.create({ includePredicted }, { job, send } as Partial<Services> as Services);
  const show = (meta: FrameMetadata, inputSize = { width: 1920, height: 1080 }) =>
    handler.process({ captureNs: 1_700_000_000_123_456_789n, inputSize, meta } as Partial<Frame> as Frame);
  return { sent, show, handler };
}

test("sends a frame as a detection message", async () => {
  const { sent, show } = await run();
  await show({ tracks: tracks([track(7, HALF, { classId: 2, className: "car", confidence: 0.8765 })]) });
  assert.deepEqual(sent, [
    {
      timestamp: "2023-11-14T22:13:20.123Z",
      source_uri: "rtsp://cam-3/main",
      process_uuid: "00000000-0000-0000-0000-000000000000",
      active_tracks: [
        {
          track_id: 7,
          class_id: 2,
          class_name: "car",
          bbox: [480, 540, 240, 270],
          scaled_bbox: [0.25, 0.5, 0.125, 0.25],
          confidence: 87.65,
        },
      ],
    },
  ]);
});

test("sends a message for a frame without objects, but none for a frame without inference", async () => {
  const { sent, show } = await run();
  await show({ tracks: tracks([]) });
  await show({ tracks: tracks([track(1, HALF, { predicted: true })], { inferred: false }) });
  await show({ detections: detections([], { inferred: false }) });
  await show({});
  assert.deepEqual(
    sent.map((message) => message.active_tracks),
    [[]],
  );
});

test("sends predicted frames while requested", async () => {
  const { sent, show, handler } = await run(true);
  const between = { tracks: tracks([track(3, HALF, { predicted: true })], { inferred: false }) };
  await show(between);
  await handler.update?.({ includePredicted: false });
  await show(between);
  assert.deepEqual(
    sent.map((message) => message.active_tracks.map((entry) => entry.track_id)),
    [[3]],
  );
});

test("without tracking, frames without inference send no message even if predictions are requested", async () => {
  const { sent, show } = await run(true);
  await show({ detections: detections([], { inferred: false }) });
  assert.deepEqual(sent, []);
  await show({ detections: detections([]) });
  assert.equal(sent.length, 1);
});

test("without tracking every id is 0; with tracking, tracks replace detections", async () => {
  const { sent, show } = await run();
  const seen = detections([detection(HALF), detection(HALF)]);
  await show({ detections: seen });
  await show({ detections: seen, tracks: tracks([track(9, HALF)]) });
  assert.deepEqual(
    sent.map((message) => message.active_tracks.map((entry) => entry.track_id)),
    [[0, 0], [9]],
  );
});

test("rounds numbers, and both boxes agree to half of the last digit", async () => {
  const fraction = fc.double({ min: 0, max: 1, noNaN: true });
  await fc.assert(
    fc.asyncProperty(fc.tuple(fraction, fraction, fraction, fraction), fraction, async (box, confidence) => {
      const { sent, show } = await run();
      await show({ tracks: tracks([track(1, box, { confidence })]) });
      const entry = sent[0]?.active_tracks[0];
      assert.ok(entry);
      for (const [axis, side] of [1920, 1080, 1920, 1080].entries()) {
        assert.ok(Math.abs((entry.bbox[axis] ?? 0) - (box[axis] ?? 0) * side) <= 0.005 + 1e-9);
        assert.ok(Math.abs((entry.scaled_bbox[axis] ?? 0) - (box[axis] ?? 0)) <= 5e-7 + 1e-12);
      }
      for (const value of [...entry.bbox, ...entry.scaled_bbox, entry.confidence]) {
        assert.ok(!Object.is(value, -0));
        assert.ok(String(value).length <= 9, String(value));
      }
    }),
  );
});

test("boxes are in pixels of the input, also if the graph resizes before and after", async () => {
  const sent: DetectionMessage[] = [];
  const mark = marker(() => ({ tracks: tracks([track(1, HALF)]) }));
  const text = `
graph: resized
about: A picture that shrinks twice.
chains:
  main:
    - source: { uri: "test:smpte?width=1920&height=1080&frames=2" }
    - decode
    - resize: { to: 720p }
    - mark
    - resize: { to: 360p }
    - detections
`;
  const graph = await start(compiledText(text, mark), [mark], {
    send: async (_node, _channel, message) => void sent.push(message as DetectionMessage),
  });
  assert.deepEqual(await graph.ended, { state: "finished", error: null });
  assert.deepEqual(
    sent.map((message) => message.active_tracks[0]?.bbox),
    [
      [480, 540, 240, 270],
      [480, 540, 240, 270],
    ],
  );
});

const PLACE: Place = {
  azimuth: -12.34567,
  elevation: -0.00001,
  distance: 141.4213,
  isDistanceEstimated: false,
  spot: {
    latitude: 47.123456789,
    longitude: -179.99999999,
    altitude: -3.1449,
    errorM: 4.2055,
    speedMps: 1.38889,
    heading: 359.9999,
  },
};
const placesOf = (objects: Places["objects"]): Places => ({ mode: "full", objects, ageMs: 12.6 });

test("adds a rounded position to the entry of its object", async () => {
  const { sent, show } = await run();
  const two = tracks([track(1, HALF), track(2, HALF)]);
  await show({ tracks: two, places: placesOf([null, PLACE]) });
  const [message] = sent;
  assert.equal(message?.telemetry_age_ms, 13);
  assert.equal(message?.active_tracks[0]?.azimuth, undefined);
  const { track_id, class_id, class_name, bbox, scaled_bbox, confidence, ...place } = message?.active_tracks[1] ?? {};
  assert.deepEqual(place, {
    latitude: 47.1234568,
    longitude: -180,
    altitude: -3.14,
    distance: 141.42,
    azimuth: -12.346,
    elevation: 0,
    position_error_m: 4.21,
    speed_mps: 1.39,
    heading: 0,
  });
});

test("omits unknown parts of a position, and marks an estimated distance", async () => {
  const { sent, show } = await run();
  const one = tracks([track(1, HALF)]);
  const still = { ...PLACE, spot: PLACE.spot && { ...PLACE.spot, speedMps: null, heading: null } };
  await show({ tracks: one, places: placesOf([still]) });
  await show({ tracks: one, places: placesOf([{ ...PLACE, isDistanceEstimated: true, spot: null }]) });
  await show({ tracks: one, places: placesOf([{ ...PLACE, distance: null, spot: null }]) });
  const names = sent.map(({ active_tracks: [entry] }) => Object.keys(entry ?? {}).slice(6));
  assert.deepEqual(names, [
    ["latitude", "longitude", "altitude", "distance", "azimuth", "elevation", "position_error_m"],
    ["distance", "azimuth", "elevation", "distance_estimated"],
    ["azimuth", "elevation"],
  ]);
});

test("adds positions to detections without tracking", async () => {
  const { sent, show } = await run();
  await show({ detections: detections([detection(HALF)]), places: placesOf([PLACE]) });
  assert.equal(sent[0]?.active_tracks[0]?.latitude, 47.1234568);
});
