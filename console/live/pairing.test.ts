import assert from "node:assert/strict";
import { test } from "node:test";
import type { DetectionMessage } from "../../client/client.ts";
import { type Pair, Pairing } from "./pairing.ts";

const at = (ms: number): string => new Date(1_794_000_000_000 + ms).toISOString();
const picture = (ms: number) => ({ timestamp: at(ms), jpeg: new Uint8Array() });
const message = (ms: number) => ({ timestamp: at(ms), active_tracks: [] }) as unknown as DetectionMessage;
const tell = (pairs: readonly Pair[]) =>
  pairs.map(({ picture, detections }) => [picture.timestamp, detections?.timestamp]);

test("a picture waits for what was found in it, whichever comes first", () => {
  const pairing = new Pairing();
  assert.deepEqual(pairing.addPicture(picture(0)), []);
  assert.deepEqual(tell(pairing.addDetections(message(0))), [[at(0), at(0)]]);
  assert.deepEqual(pairing.addDetections(message(100)), []);
  assert.deepEqual(tell(pairing.addPicture(picture(100))), [[at(100), at(100)]]);
});

test("pictures that nobody looked at are left out while others come, and shown alone when none do", () => {
  const pairing = new Pairing();
  pairing.addDetections(message(0));
  pairing.addPicture(picture(0));
  pairing.addPicture(picture(100));
  pairing.addPicture(picture(200));
  assert.deepEqual(tell(pairing.addDetections(message(200))), [[at(200), at(200)]]);
  pairing.addPicture(picture(1300));
  assert.deepEqual(tell(pairing.addDetections(message(1400))), [[at(1300), undefined]]);
});

test("without any detections pictures go on, a little later", () => {
  const pairing = new Pairing();
  const shown = Array.from({ length: 100 }, (_, i) => pairing.addPicture(picture(i * 100))).flat();
  assert.equal(shown.length, 70);
  assert.ok(shown.every(({ detections }) => detections === null));
});

test("a clock that is set back changes nothing", () => {
  const pairing = new Pairing();
  pairing.addDetections(message(60_000));
  assert.deepEqual(tell(pairing.addPicture(picture(60_000))), [[at(60_000), at(60_000)]]);
  pairing.addDetections(message(0));
  assert.deepEqual(pairing.addPicture(picture(100)), []);
  assert.deepEqual(tell(pairing.addDetections(message(100))), [[at(100), at(100)]]);
});
