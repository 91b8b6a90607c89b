import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Evaluator, Scene, Sighting } from "../alert-type.ts";
import { boxAt, brief, evaluatorOf, placedAt, START_MS, sceneAt, seenAt } from "../scene.fixture.ts";

const show = (evaluator: Evaluator, ms: number, sightings: readonly Sighting[], change: Partial<Scene> = {}) =>
  brief(evaluator.see(sceneAt(ms, sightings, change)));

const LEFT = { polygon: [[0, 0], [0.5, 0], [0.5, 1], [0, 1]] }; // biome-ignore format: points

test("finds a track once it has matched in the region for long enough, with its image", () => {
  const evaluator = evaluatorOf("filter-search", { region: LEFT, trigger: { for_seconds: 2 } });
  show(evaluator, 0, [seenAt(1, 0.2, 0.5), seenAt(2, 0.8, 0.5)]);
  assert.deepEqual(show(evaluator, 1999, [seenAt(1, 0.3, 0.5)]), []);
  assert.deepEqual(show(evaluator, 1999, [seenAt(1, 0.3, 0.5, { predicted: true })]), []);
  const [event] = evaluator.see(sceneAt(2000, [seenAt(1, 0.4, 0.5)]));
  assert.deepEqual(event?.data, { track_id: 1, since: new Date(START_MS).toISOString(), matched_seconds: 2 });
  assert.equal(event?.patchTrackId, 1);
});

describe("each track is reported", () => {
  const visits = [
    [0, 0.2],
    [500, 0.9],
    [1000, 0.2],
    [1500, null],
    [2100, null],
    [4000, 0.2],
    [4500, 0.2],
  ] as const;
  for (const [isOnce, expected] of [
    [true, [0]],
    [false, [0, 1000, 4000]],
  ] as const)
    test(isOnce ? "once" : "again after it has left and come back", () => {
      const evaluator = evaluatorOf("filter-search", { region: LEFT, trigger: { once_per_track: isOnce } });
      const found = visits.filter(([ms, x]) => show(evaluator, ms, x === null ? [] : [seenAt(1, x, 0.5)]).length > 0);
      assert.deepEqual(
        found.map(([ms]) => ms),
        expected,
      );
    });

  test("once, and only after it matched for long enough, for any frame times and other tracks", () => {
    const step = fc.record({
      ms: fc.integer({ min: 1, max: 1500 }),
      seen: fc.uniqueArray(
        fc.record({ id: fc.integer({ min: 1, max: 8 }), isIn: fc.boolean(), isSure: fc.boolean() }),
        { selector: ({ id }) => id, maxLength: 8 },
      ),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 25 }), fc.constantFrom(0, 0.5, 2), (steps, seconds) => {
        const evaluator = evaluatorOf("filter-search", {
          region: LEFT,
          filter: { min_confidence: 0.5 },
          trigger: { for_seconds: seconds },
        });
        const reported: number[] = [];
        const expected: number[] = [];
        const since = new Map<number, { fromMs: number; seenMs: number }>();
        let nowMs = 0;
        for (const { ms, seen } of steps) {
          nowMs += ms;
          const sightings = seen.map(({ id, isIn, isSure }) =>
            seenAt(id, isIn ? 0.2 : 0.8, 0.5, { confidence: isSure ? 0.9 : 0.3 }),
          );
          let room = 4;
          const isSeen = (id: number) => seen.some((one) => one.id === id && one.isSure);
          for (const [id, { seenMs }] of since) if (!isSeen(id) && nowMs - seenMs > 1000) since.delete(id);
          for (const { id, isIn, isSure } of seen) {
            if (!isSure) continue;
            const last = since.get(id);
            if (!isIn) since.delete(id);
            else if (last === undefined) since.set(id, { fromMs: nowMs, seenMs: nowMs });
            else last.seenMs = nowMs;
            const isDue = isIn && nowMs - (since.get(id)?.fromMs ?? nowMs) >= seconds * 1000;
            if (!isDue || expected.includes(id) || room === 0) continue;
            room -= 1;
            expected.push(id);
          }
          for (const { sightings: found } of evaluator.see(sceneAt(nowMs, sightings)))
            reported.push(...found.map(({ track }) => track.id));
          assert.deepEqual(reported, expected);
        }
        assert.equal(new Set(reported).size, reported.length);
      }),
      { numRuns: 150 },
    );
  });
});

test("reports many simultaneous matches over several frames, a few per frame", () => {
  const evaluator = evaluatorOf("filter-search");
  const crowd = Array.from({ length: 10 }, (_, i) => seenAt(i + 1, 0.5, 0.5));
  const counts = [0, 100, 200, 300].map((ms) => show(evaluator, ms, crowd).length);
  assert.deepEqual(counts, [4, 4, 2, 0]);
});

test("lists as candidates only tracks that match and were not reported", () => {
  const evaluator = evaluatorOf("filter-search", { region: LEFT, trigger: { for_seconds: 1 } });
  const candidates = () => {
    const ids = new Set<number>();
    evaluator.listCandidates?.(ids);
    return [...ids];
  };
  show(evaluator, 0, [seenAt(1, 0.2, 0.5), seenAt(2, 0.8, 0.5), seenAt(3, 0.3, 0.5)]);
  assert.deepEqual(candidates(), [1, 3]);
  show(evaluator, 1000, [seenAt(1, 0.2, 0.5)], { ended: [3] });
  assert.deepEqual(candidates(), []);
});

describe("the filter", () => {
  const isFound = (filter: Record<string, unknown>, sighting: Sighting): boolean =>
    show(evaluatorOf("filter-search", { filter }), 0, [sighting]).length > 0;
  const box = (width: number, height: number) => seenAt(1, 0.5, 0.5, { box: boxAt(0.5, 0.5, width, height) });

  for (const [words, filter, sighting, expected] of [
    ["accepts every track when empty", {}, seenAt(1, 0.5, 0.5), true],
    ["accepts every class when none is named", { class_names: [] }, seenAt(1, 0.5, 0.5), true],
    ["accepts a named class", { class_names: ["car", "person"] }, seenAt(1, 0.5, 0.5), true],
    ["rejects other classes", { class_names: ["car"] }, seenAt(1, 0.5, 0.5), false],
    ["accepts the minimum confidence", { min_confidence: 0.5 }, seenAt(1, 0.5, 0.5, { confidence: 0.5 }), true],
    ["rejects a lower confidence", { min_confidence: 0.5 }, seenAt(1, 0.5, 0.5, { confidence: 0.49 }), false],
    ["rejects a predicted track", {}, seenAt(1, 0.5, 0.5, { predicted: true }), false],
    ["accepts a box of the area", { min_area: 0.0625, max_area: 0.0625 }, box(0.25, 0.25), true],
    ["rejects a smaller box", { min_area: 0.0625 }, box(0.25, 0.125), false],
    ["rejects a larger box", { max_area: 0.0625 }, box(0.25, 0.5), false],
    ["accepts a track of the minimum age", { min_track_age_seconds: 1 }, seenAt(1, 0.5, 0.5, { ageMs: 1000 }), true],
    ["rejects a younger track", { min_track_age_seconds: 1 }, seenAt(1, 0.5, 0.5, { ageMs: 999 }), false],
    ["accepts a track of the speed", { min_speed_mps: 2, max_speed_mps: 2 }, placedAt(1, 11, 48, 2), true],
    ["rejects a slower track", { min_speed_mps: 2 }, placedAt(1, 11, 48, 1.9), false],
    ["rejects a faster track", { max_speed_mps: 2 }, placedAt(1, 11, 48, 2.1), false],
    ["rejects a track of unknown speed", { min_speed_mps: 0 }, placedAt(1, 11, 48, null), false],
    ["rejects a track without a position if a speed is required", { max_speed_mps: 9 }, seenAt(1, 0.5, 0.5), false],
  ] as const)
    test(words, () => assert.equal(isFound(filter, sighting), expected));
});
