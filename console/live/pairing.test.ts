import assert from "node:assert/strict";
import { test } from "node:test";
import type { DetectionMessage } from "../../client/client.ts";
import { type Pair, Pairing } from "./pairing.ts";

const at = (ms: number): string => new Date(1_794_000_000_000 + ms).toISOString();
const frame = (ms: number) => ({ timestamp: at(ms), jpeg: new Uint8Array() });
const message = (ms: number) => ({ timestamp: at(ms), active_tracks: [] }) as unknown as DetectionMessage;
const timesOf = (pairs: readonly Pair[]) =>
  pairs.map(({ frame, detections }) => [frame.timestamp, detections?.timestamp]);

test("matches a frame with its detections, whichever arrives first", () => {
  const pairing = new Pairing();
  assert.deepEqual(pairing.addFrame(frame(0)), []);
  assert.deepEqual(timesOf(pairing.addDetections(message(0))), [[at(0), at(0)]]);
  assert.deepEqual(pairing.addDetections(message(100)), []);
  assert.deepEqual(timesOf(pairing.addFrame(frame(100))), [[at(100), at(100)]]);
});

test("drops frames without inference, unless there are no others for a second", () => {
  const pairing = new Pairing();
  pairing.addDetections(message(0));
  pairing.addFrame(frame(0));
  pairing.addFrame(frame(100));
  pairing.addFrame(frame(200));
  assert.deepEqual(timesOf(pairing.addDetections(message(200))), [[at(200), at(200)]]);
  pairing.addFrame(frame(1300));
  assert.deepEqual(timesOf(pairing.addDetections(message(1400))), [[at(1300), undefined]]);
});

test("shows frames with a delay when there are no detections at all", () => {
  const pairing = new Pairing();
  const shown = Array.from({ length: 100 }, (_, i) => pairing.addFrame(frame(i * 100))).flat();
  assert.equal(shown.length, 70);
  assert.ok(shown.every(({ detections }) => detections === null));
});

test("continues to match after a clock was set back", () => {
  const pairing = new Pairing();
  pairing.addDetections(message(60_000));
  assert.deepEqual(timesOf(pairing.addFrame(frame(60_000))), [[at(60_000), at(60_000)]]);
  pairing.addDetections(message(0));
  assert.deepEqual(pairing.addFrame(frame(100)), []);
  assert.deepEqual(timesOf(pairing.addDetections(message(100))), [[at(100), at(100)]]);
});
