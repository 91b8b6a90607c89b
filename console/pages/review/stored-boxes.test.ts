import assert from "node:assert/strict";
import { test } from "node:test";
import type { DetectionMessage, TrackEntry } from "../../../client/client.ts";
import { StoredBoxes } from "./stored-boxes.ts";

const track = (track_id: number, x: number): TrackEntry => ({
  ...{
    track_id,
    class_id: 0,
    class_name: "person",
    confidence: 90,
    bbox: [0, 0, 1, 1],
    scaled_bbox: [x, 0.5, 0.1, 0.2],
  },
});

const message = (ms: number, ...active_tracks: TrackEntry[]): DetectionMessage => ({
  ...{ timestamp: new Date(ms).toISOString(), source_uri: "", process_uuid: "", active_tracks },
});

const xs = (boxes: StoredBoxes, ms: number) =>
  boxes.find(ms)?.boxes.active_tracks.map(({ track_id, scaled_bbox: [x] }) => [track_id, Number(x.toFixed(3))]);

test("the message of a frame is found by its time, within a rounding error", () => {
  const boxes = new StoredBoxes();
  boxes.add([message(1040, track(1, 0.2)), message(1000, track(1, 0.1))], 0);
  assert.equal(boxes.find(1000.6)?.message?.timestamp, new Date(1000).toISOString());
  assert.equal(boxes.find(1037)?.message?.timestamp, new Date(1040).toISOString());
  boxes.add([message(1040, track(1, 0.3))], 0);
  assert.deepEqual(xs(boxes, 1040), [[1, 0.3]]);
});

test("frames without inference have boxes between those of their neighbours", () => {
  const boxes = new StoredBoxes();
  boxes.add([message(1000, track(1, 0.1), track(2, 0.5)), message(1100, track(1, 0.2), track(3, 0.8))], 0);
  assert.deepEqual(xs(boxes, 1025), [
    [1, 0.125],
    [2, 0.5],
  ]);
  assert.deepEqual(xs(boxes, 1075), [
    [1, 0.175],
    [3, 0.8],
  ]);
  assert.equal(boxes.find(1025)?.message, null);
});

test("nothing is drawn where nothing is known", () => {
  const boxes = new StoredBoxes();
  assert.equal(boxes.find(1000), null);
  boxes.add([message(1000, track(1, 0.1)), message(5000, track(1, 0.2))], 0);
  assert.deepEqual(xs(boxes, 1100), [[1, 0.1]], "for a moment");
  for (const ms of [900, 1500, 4900, 5500]) assert.equal(boxes.find(ms), null);
});

test("times of a file begin with its process", () => {
  const boxes = new StoredBoxes();
  boxes.add([message(1_700_000_002_000, track(1, 0.1))], 1_700_000_000_000);
  assert.deepEqual(xs(boxes, 2000), [[1, 0.1]]);
});
