import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { LatestWriter, TrackIds } from "./process-record.ts";

/** A database that fails this many times, and then accepts everything but negative numbers. */
function makeDatabase(failures: number) {
  const written: number[] = [];
  let lost = 0;
  let left = failures;
  const writer = new LatestWriter<number>({
    write: async (value) => {
      if (left-- > 0) throw new Error("unreachable");
      if (value < 0) return false;
      written.push(value);
      return true;
    },
    onLost: () => {
      lost++;
    },
    onRetry: () => {},
  });
  return { writer, written, lost: () => lost };
}

test("writes the latest value and skips those that waited meanwhile", async () => {
  const { writer, written } = makeDatabase(0);
  await Promise.all([1, 2, 3, 4].map((value) => writer.save(value)));
  assert.deepEqual(written, [1, 4]);
});

test("keeps one value while the database is unreachable, and resolves all saves when it is written", async () => {
  const { writer, written } = makeDatabase(2);
  const saves = await Promise.all([1, 2, 3].map((value) => writer.save(value)));
  assert.deepEqual([written, saves], [[3], [true, true, true]]);
});

test("stops writing when the claim is lost, and reports that once", async () => {
  const { writer, written, lost } = makeDatabase(0);
  assert.deepEqual(await Promise.all([writer.save(-1), writer.save(2)]), [false, false]);
  assert.equal(await writer.save(3), false);
  assert.deepEqual([written, lost()], [[], 1]);
});

test("resolves waiting saves with false when it is closed", async () => {
  const { writer, written } = makeDatabase(Number.POSITIVE_INFINITY);
  const saves = [writer.save(1), writer.save(2)];
  writer.close();
  assert.deepEqual(await Promise.all(saves), [false, false]);
  assert.deepEqual(written, []);
});

test("the stored id is above every id that clients received, at any moment", () => {
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

test("ids in a track report count as received", () => {
  const ids = new TrackIds(5);
  ids.noteMessage({ tracks: [{ id: 7 }, { id: 9 }, null, {}] });
  assert.equal(ids.next, 10);
});
