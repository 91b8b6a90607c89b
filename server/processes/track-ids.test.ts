import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TrackIds } from "./track-ids.ts";

test("what is written down is above every id that was told, at any moment", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 1e6 }), fc.array(fc.integer({ min: 0, max: 400 })), (first, steps) => {
      const ids = new TrackIds(first);
      let written = ids.reserved;
      let highest = 0;
      for (const step of steps) {
        highest = ids.next + step;
        const mustWrite = ids.noteMessage({ active_tracks: [{ track_id: 1 }, { track_id: highest }] });
        if (mustWrite) written = ids.reserved;
        assert.ok(written > highest);
        assert.equal(ids.next, highest + 1);
      }
    }),
  );
});

test("messages without tracks change nothing", () => {
  const ids = new TrackIds(5);
  for (const message of [
    {},
    { active_tracks: [] },
    { active_tracks: null },
    { active_tracks: ["x"] },
    { active_tracks: [{}] },
    { tracks: 7 },
    { tracks: ["x", null] },
  ])
    assert.equal(ids.noteMessage(message), false);
  assert.equal(ids.next, 5);
});

test("ids of a report of tracks count as told", () => {
  const ids = new TrackIds(5);
  ids.noteMessage({ tracks: [{ id: 7 }, { id: 9 }, null, {}] });
  assert.equal(ids.next, 10);
});
