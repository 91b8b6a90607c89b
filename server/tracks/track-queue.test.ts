import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { TrackQueue } from "./track-queue.ts";
import { pointOf, reported, START_MS } from "./tracks.fixture.ts";

const LARGE = { tracks: 1000, points: 1000, patchBytes: 1000 };
const patchOf = (length: number) => ({ timeMs: START_MS, confidence: 0.9, jpeg: "A".repeat(length) });
const claimOf = (uuid: string) => ({ uuid, fence: 1 });
const indicesOf = (points: readonly { readonly index: number }[]) => points.map(({ index }) => index);

test("merges updates of a track into one, with the newest summary and all points", () => {
  const waiting = new TrackQueue(LARGE);
  waiting.add(claimOf("p"), reported(1, { sightings: 2 }));
  waiting.add(claimOf("q"), reported(1));
  waiting.add(claimOf("p"), reported(1, { sightings: 5, pointsBefore: 1, points: [pointOf(1), pointOf(2)] }));
  const taken = waiting.take(100);
  assert.deepEqual(
    taken.map(({ processUuid, sightings, points }) => [processUuid, sightings, indicesOf(points)]),
    [
      ["p", 5, [0, 1, 2]],
      ["q", 2, [0]],
    ],
  );
  assert.ok(waiting.isEmpty);
});

test("puts failed updates before newer ones, without replacing them", () => {
  const waiting = new TrackQueue(LARGE);
  waiting.add(claimOf("p"), reported(1, { sightings: 2 }));
  const taken = waiting.take(100);
  waiting.add(claimOf("p"), reported(1, { sightings: 9, pointsBefore: 1, points: [pointOf(1)] }));
  waiting.putBack(taken);
  const [news] = waiting.take(100);
  assert.deepEqual([news?.sightings, indicesOf(news?.points ?? [])], [9, [0, 1]]);
});

test("tracks of an ended runner are not live, and those of the next one are", () => {
  const waiting = new TrackQueue(LARGE);
  for (const id of [1, 2, 3]) waiting.add(claimOf("p"), reported(id));
  waiting.add(claimOf("q"), reported(1));
  waiting.end({ processUuid: "p", fence: 1, lastTrackId: 2 });
  assert.deepEqual(
    waiting.take(100).map(({ isLive }) => isLive),
    [false, false, true, true],
  );
});

test("drops the oldest beyond the limits, and counts them", () => {
  const waiting = new TrackQueue({ tracks: 2, points: 3, patchBytes: 1000 });
  for (const id of [1, 2, 3]) waiting.add(claimOf("p"), reported(id));
  waiting.add(claimOf("p"), reported(3, { pointsBefore: 1, points: [pointOf(1), pointOf(2)] }));
  assert.deepEqual(waiting.takeLosses(), { tracks: 1, points: 2, patches: 0 });
  assert.deepEqual(waiting.takeLosses(), { tracks: 0, points: 0, patches: 0 });
  assert.deepEqual(
    waiting.take(100).map(({ id, points }) => [id, points.length]),
    [
      [2, 0],
      [3, 3],
    ],
  );
});

test("drops the points that were queued longest", () => {
  const waiting = new TrackQueue({ ...LARGE, points: 4 });
  const add = (id: number, pointsBefore: number, count: number) =>
    waiting.add(
      claimOf("p"),
      reported(id, { pointsBefore, points: Array.from({ length: count }, (_, i) => pointOf(i)) }),
    );
  add(1, 0, 3);
  add(2, 0, 3);
  add(1, 3, 2);
  assert.deepEqual(
    waiting.take(100).map(({ id, points }) => [id, points.map(({ index }) => index)]),
    [
      [1, [3, 4]],
      [2, []],
    ],
  );
});

test("writes the newest image of a track, also after failures", () => {
  const waiting = new TrackQueue(LARGE);
  waiting.add(claimOf("p"), reported(1, { patch: patchOf(4) }));
  waiting.add(claimOf("p"), reported(1, { patch: patchOf(8) }));
  waiting.add(claimOf("p"), reported(1));
  const taken = waiting.take(100);
  assert.deepEqual(taken[0]?.patch, patchOf(8));
  waiting.putBack(taken);
  waiting.add(claimOf("p"), reported(1, { patch: patchOf(12) }));
  waiting.putBack(taken);
  assert.deepEqual(waiting.take(100)[0]?.patch, patchOf(12));
});

test("drops the oldest images beyond the limit, not their tracks, and counts them", () => {
  const waiting = new TrackQueue({ ...LARGE, patchBytes: 100 });
  for (const id of [1, 2, 3]) waiting.add(claimOf("p"), reported(id, { patch: patchOf(40) }));
  waiting.add(claimOf("p"), reported(3, { patch: patchOf(80) }));
  assert.deepEqual(waiting.takeLosses(), { tracks: 0, points: 0, patches: 2 });
  assert.deepEqual(
    waiting.take(100).map(({ patch, points }) => [patch?.jpeg.length ?? 0, points.length]),
    [
      [0, 1],
      [0, 1],
      [80, 2],
    ],
  );
  waiting.add(claimOf("p"), reported(4, { patch: patchOf(100) }));
  assert.equal(waiting.takeLosses().patches, 0);
});

test("stays within its limits, and every point is written, queued or counted as lost", () => {
  const step = fc.oneof(
    fc.record({
      act: fc.constant("add" as const),
      id: fc.integer({ min: 1, max: 8 }),
      points: fc.integer({ min: 0, max: 6 }),
    }),
    fc.record({ act: fc.constantFrom("write" as const, "fail" as const), most: fc.integer({ min: 1, max: 20 }) }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const waiting = new TrackQueue({ tracks: 4, points: 10, patchBytes: 100 });
      const reportedPoints = new Map<number, number>();
      let [written, lost] = [0, 0];
      for (const one of steps) {
        if (one.act === "add") {
          const pointsBefore = reportedPoints.get(one.id) ?? 0;
          const points = Array.from({ length: one.points }, (_, i) => pointOf(i));
          waiting.add(claimOf("p"), reported(one.id, { pointsBefore, points }));
          reportedPoints.set(one.id, pointsBefore + one.points);
        } else {
          const taken = waiting.take(one.most);
          assert.ok(taken.length <= 4);
          if (one.act === "fail") waiting.putBack(taken);
          else written += taken.reduce((sum, { points }) => sum + points.length, 0);
        }
        lost += waiting.takeLosses().points;
      }
      const left = waiting.take(1000);
      const held = left.reduce((sum, { points }) => sum + points.length, 0);
      assert.ok(left.length <= 4 && held <= 10);
      assert.equal(
        written + lost + held,
        [...reportedPoints.values()].reduce((sum, count) => sum + count, 0),
      );
    }),
  );
});
