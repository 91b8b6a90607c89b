import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { StoredMessages } from "./messages.ts";

const folder = mkdtempSync(join(tmpdir(), "windhover-stored-"));
after(() => rmSync(folder, { recursive: true, force: true }));

const ZERO = Date.UTC(2026, 0, 2);

function message(ms: number, boxes: Readonly<Record<number, number>>): DetectionMessage {
  return {
    ...{ timestamp: new Date(ZERO + ms).toISOString(), source_uri: "", process_uuid: "" },
    active_tracks: Object.entries(boxes).map(([id, left]) => ({
      ...{ track_id: Number(id), class_id: 2, class_name: "car", bbox: [0, 0, 1, 1], confidence: 87.5 },
      scaled_bbox: [left, 0.5, 0.25, 0.25],
    })),
  };
}

function open(...messages: readonly DetectionMessage[]): StoredMessages {
  const path = join(folder, "messages.ndjson");
  writeFileSync(path, messages.map((one) => `${JSON.stringify(one)}\n`).join(""));
  return new StoredMessages(path);
}

/** Left edges by id at each of these times. */
async function lefts(messages: StoredMessages, ...times: readonly number[]): Promise<Record<number, number>[]> {
  const found: Record<number, number>[] = [];
  for (const ms of times) {
    const { objects } = await messages.at(ZERO + ms);
    found.push(Object.fromEntries(objects.map(({ id, box }) => [id, Math.round(box[0] * 1000) / 1000])));
  }
  messages.close();
  return found;
}

test("boxes are those of the message at its frame, and move in a straight line to the next", async () => {
  const messages = open(message(0, { 1: 0.1 }), message(100, { 1: 0.2 }), message(200, { 1: 0.5 }));
  assert.deepEqual(await lefts(messages, 0, 50, 100, 150), [{ 1: 0.1 }, { 1: 0.15 }, { 1: 0.2 }, { 1: 0.35 }]);
});

test("a time that was rounded on its way still belongs to its frame", async () => {
  const messages = open(message(0, { 1: 0.1 }), message(100, { 1: 0.2 }));
  assert.equal((await messages.at(ZERO + 98)).inferred, true);
  assert.equal((await messages.at(ZERO + 150)).inferred, false);
  messages.close();
});

test("an object stays until the message without it, and appears with its first", async () => {
  const messages = open(message(0, { 1: 0.1 }), message(100, { 2: 0.3 }));
  assert.deepEqual(await lefts(messages, 60, 100), [{ 1: 0.1 }, { 2: 0.3 }]);
});

test("nothing is drawn before the first message, or long after one", async () => {
  const messages = open(message(1000, { 1: 0.1 }), message(9000, { 1: 0.9 }));
  assert.deepEqual(await lefts(messages, 0, 1000, 1400, 5000, 9000), [{}, { 1: 0.1 }, { 1: 0.1 }, {}, { 1: 0.9 }]);
  assert.deepEqual(await lefts(new StoredMessages(null), 0), [{}]);
});

test("objects without tracking are all drawn", async () => {
  const [track] = message(0, { 0: 0.1 }).active_tracks;
  const two = { ...message(0, {}), active_tracks: [track, { ...track, scaled_bbox: [0.6, 0, 0.1, 0.1] }] };
  const { objects } = await open(two as DetectionMessage).at(ZERO);
  assert.deepEqual(
    objects.map(({ box, confidence }) => [box[0], confidence]),
    [
      [0.1, 0.875],
      [0.6, 0.875],
    ],
  );
});
