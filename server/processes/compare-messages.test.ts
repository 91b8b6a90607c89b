import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { DetectionMessage, TrackEntry } from "../../schemas/detection-message.ts";
import { MessageComparison } from "./compare-messages.ts";

type Box = TrackEntry["scaled_bbox"];

const entry = (track_id: number, scaled_bbox: Box, class_name = "car"): TrackEntry => ({
  ...{ track_id, class_id: 0, class_name, confidence: 50, scaled_bbox, bbox: scaled_bbox },
});
const message = (timeMs: number, ...active_tracks: readonly TrackEntry[]): DetectionMessage => ({
  ...{ timestamp: new Date(timeMs).toISOString(), source_uri: "", process_uuid: "", active_tracks: [...active_tracks] },
});
const LEFT: Box = [0.1, 0.1, 0.2, 0.2];
const BESIDE: Box = [0.12, 0.1, 0.2, 0.2];
const RIGHT: Box = [0.6, 0.1, 0.2, 0.2];

test("the same messages agree fully, whichever side is first", () => {
  for (const sides of [["live", "shadow"] as const, ["shadow", "live"] as const]) {
    const comparison = new MessageComparison();
    for (let frame = 0; frame < 50; frame++)
      for (const side of sides) comparison.add(side, message(frame * 40, entry(1, LEFT), entry(2, RIGHT, "person")));
    const { agreement, recall, precision, classes, frames } = comparison.result;
    assert.deepEqual([agreement, recall, precision], [1, 1, 1]);
    assert.ok(frames.compared >= 49, JSON.stringify(frames));
    assert.deepEqual(
      classes.map(({ name, tracks }) => [name, tracks]),
      [
        ["car", { live: 1, shadow: 1, matched: 1 }],
        ["person", { live: 1, shadow: 1, matched: 1 }],
      ],
    );
  }
});

test("counts what only one side has: boxes, classes and tracks", () => {
  const comparison = new MessageComparison();
  for (let frame = 0; frame < 10; frame++) {
    comparison.add("shadow", message(frame * 40, entry(frame < 5 ? 7 : 8, BESIDE), entry(9, RIGHT, "person")));
    comparison.add("live", message(frame * 40, entry(1, LEFT), entry(2, RIGHT)));
  }
  const { recall, precision, agreement, classes } = comparison.result;
  assert.deepEqual([recall, precision, agreement], [0.5, 0.5, 0.5]);
  assert.deepEqual(classes, [
    { name: "car", boxes: { live: 20, shadow: 10, matched: 10 }, tracks: { live: 2, shadow: 2, matched: 1 } },
    { name: "person", boxes: { live: 0, shadow: 10, matched: 0 }, tracks: { live: 0, shadow: 1, matched: 0 } },
  ]);
});

test("a shadow that infers every second frame is compared on those, and is half as fast", () => {
  const comparison = new MessageComparison();
  for (let frame = 0; frame < 100; frame++) {
    if (frame % 2 === 0) comparison.add("shadow", message(frame * 40, entry(1, LEFT)));
    comparison.add("live", message(frame * 40, entry(1, LEFT)));
  }
  const { frames, speed, agreement } = comparison.result;
  assert.deepEqual([frames, speed, agreement], [{ live: 100, shadow: 50, compared: 50 }, 0.5, 1]);
});

test("frames whose capture times differ a little are the same; each is compared once", () => {
  const comparison = new MessageComparison();
  for (let frame = 0; frame < 100; frame++) {
    comparison.add("shadow", message(frame * 40 + 9, entry(1, LEFT)));
    comparison.add("live", message(frame * 40, entry(1, LEFT)));
  }
  const { frames, agreement } = comparison.result;
  assert.ok(frames.compared >= 98 && frames.compared <= 100, JSON.stringify(frames));
  assert.equal(agreement, 1);
});

test("before the first pair nothing is claimed", () => {
  const comparison = new MessageComparison();
  comparison.add("live", message(0, entry(1, LEFT)));
  const { recall, precision, agreement, speed, frames } = comparison.result;
  assert.deepEqual([recall, precision, agreement, speed], [null, null, null, null]);
  assert.deepEqual(frames, { live: 0, shadow: 0, compared: 0 });
});

test("any messages give shares from 0 to 1, and never more matches than boxes", () => {
  const box = fc.tuple(...Array.from({ length: 4 }, () => fc.double({ min: 0, max: 1, noNaN: true })));
  const track = fc.record({ id: fc.nat(5), box, name: fc.constantFrom("car", "person") });
  const sent = fc.record({
    ...{ side: fc.constantFrom("live" as const, "shadow" as const), timeMs: fc.nat(2_000) },
    tracks: fc.array(track, { maxLength: 5 }),
  });
  fc.assert(
    fc.property(fc.array(sent, { maxLength: 60 }), (messages) => {
      const comparison = new MessageComparison();
      for (const { side, timeMs, tracks } of messages)
        comparison.add(side, message(timeMs, ...tracks.map(({ id, box, name }) => entry(id, box as Box, name))));
      const { recall, precision, agreement, classes, frames } = comparison.result;
      for (const share of [recall, precision, agreement]) assert.ok(share === null || (share >= 0 && share <= 1));
      assert.ok(frames.compared <= messages.length / 2);
      for (const { boxes, tracks } of classes) {
        assert.ok(boxes.matched <= Math.min(boxes.live, boxes.shadow));
        assert.ok(tracks.matched <= tracks.live);
      }
    }),
  );
});

test("its memory is bounded while one side is silent", () => {
  const comparison = new MessageComparison();
  comparison.add("shadow", message(0));
  for (let frame = 0; frame < 50_000; frame++)
    comparison.add("live", message(1_000 + frame * 40, entry(frame + 1, LEFT)));
  for (let frame = 0; frame < 50_000; frame++) comparison.add("shadow", message(1_000 + frame * 40, entry(1, LEFT)));
  assert.ok(comparison.result.frames.compared <= 2_000);
});
