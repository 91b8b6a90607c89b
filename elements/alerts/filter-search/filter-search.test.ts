import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Evaluator, Scene, Sighting } from "../alert-type.ts";
import { boxAt, brief, evaluatorOf, placedAt, START_MS, sceneAt, seenAt } from "../scene.fixture.ts";

const show = (evaluator: Evaluator, ms: number, sightings: readonly Sighting[], change: Partial<Scene> = {}) =>
  brief(evaluator.see(sceneAt(ms, sightings, change)));

const LEFT = { polygon: [[0, 0], [0.5, 0], [0.5, 1], [0, 1]] }; // biome-ignore format: points

test("finds a track once it has matched in the region for long enough, with the picture of it", () => {
  const evaluator = evaluatorOf("filter-search", { region: LEFT, trigger: { for_seconds: 2 } });
  show(evaluator, 0, [seenAt(1, 0.2, 0.5), seenAt(2, 0.8, 0.5)]);
  assert.deepEqual(show(evaluator, 1999, [seenAt(1, 0.3, 0.5)]), []);
  assert.deepEqual(show(evaluator, 1999, [seenAt(1, 0.3, 0.5, { predicted: true })]), []);
  const [verdict] = evaluator.see(sceneAt(2000, [seenAt(1, 0.4, 0.5)]));
  assert.deepEqual(verdict?.data, { track_id: 1, since: new Date(START_MS).toISOString(), matched_seconds: 2 });
  assert.equal(verdict?.patchOf, 1);
});

describe("each track is told of", () => {
  const comings = [
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
      const told = comings.filter(([ms, x]) => show(evaluator, ms, x === null ? [] : [seenAt(1, x, 0.5)]).length > 0);
      assert.deepEqual(
        told.map(([ms]) => ms),
        expected,
      );
    });

  test("once per track and never unless it matched for long enough, whatever the frames and the others do", () => {
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
        const told: number[] = [];
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
            told.push(...found.map(({ track }) => track.id));
          assert.deepEqual(told, expected);
        }
        assert.equal(new Set(told).size, told.length);
      }),
      { numRuns: 150 },
    );
  });
});

test("many that match at once are told of a few at a time, and all of them", () => {
  const evaluator = evaluatorOf("filter-search");
  const crowd = Array.from({ length: 10 }, (_, i) => seenAt(i + 1, 0.5, 0.5));
  const told = [0, 100, 200, 300].map((ms) => show(evaluator, ms, crowd).length);
  assert.deepEqual(told, [4, 4, 2, 0]);
});

test("pictures are wanted of those that may be found, and of no others", () => {
  const evaluator = evaluatorOf("filter-search", { region: LEFT, trigger: { for_seconds: 1 } });
  const suspects = () => {
    const ids = new Set<number>();
    evaluator.listSuspects?.(ids);
    return [...ids];
  };
  show(evaluator, 0, [seenAt(1, 0.2, 0.5), seenAt(2, 0.8, 0.5), seenAt(3, 0.3, 0.5)]);
  assert.deepEqual(suspects(), [1, 3]);
  show(evaluator, 1000, [seenAt(1, 0.2, 0.5)], { ended: [3] });
  assert.deepEqual(suspects(), []);
});

describe("the filter", () => {
  const isFound = (filter: Record<string, unknown>, sighting: Sighting): boolean =>
    show(evaluatorOf("filter-search", { filter }), 0, [sighting]).length > 0;
  const box = (width: number, height: number) => seenAt(1, 0.5, 0.5, { box: boxAt(0.5, 0.5, width, height) });

  for (const [words, filter, sighting, expected] of [
    ["takes all where it says nothing", {}, seenAt(1, 0.5, 0.5), true],
    ["takes all classes where it names none", { class_names: [] }, seenAt(1, 0.5, 0.5), true],
    ["takes a class that it names", { class_names: ["car", "person"] }, seenAt(1, 0.5, 0.5), true],
    ["refuses others", { class_names: ["car"] }, seenAt(1, 0.5, 0.5), false],
    ["takes what is as sure as wanted", { min_confidence: 0.5 }, seenAt(1, 0.5, 0.5, { confidence: 0.5 }), true],
    ["refuses what is less sure", { min_confidence: 0.5 }, seenAt(1, 0.5, 0.5, { confidence: 0.49 }), false],
    ["refuses what was only predicted", {}, seenAt(1, 0.5, 0.5, { predicted: true }), false],
    ["takes a box of the size", { min_area: 0.0625, max_area: 0.0625 }, box(0.25, 0.25), true],
    ["refuses a smaller one", { min_area: 0.0625 }, box(0.25, 0.125), false],
    ["refuses a larger one", { max_area: 0.0625 }, box(0.25, 0.5), false],
    ["takes a track that is old enough", { min_track_age_seconds: 1 }, seenAt(1, 0.5, 0.5, { ageMs: 1000 }), true],
    ["refuses a younger one", { min_track_age_seconds: 1 }, seenAt(1, 0.5, 0.5, { ageMs: 999 }), false],
    ["takes one of the speed", { min_speed_mps: 2, max_speed_mps: 2 }, placedAt(1, 11, 48, 2), true],
    ["refuses a slower one", { min_speed_mps: 2 }, placedAt(1, 11, 48, 1.9), false],
    ["refuses a faster one", { max_speed_mps: 2 }, placedAt(1, 11, 48, 2.1), false],
    ["refuses one whose speed is not known", { min_speed_mps: 0 }, placedAt(1, 11, 48, null), false],
    ["refuses one that has no place, where speed matters", { max_speed_mps: 9 }, seenAt(1, 0.5, 0.5), false],
  ] as const)
    test(words, () => assert.equal(isFound(filter, sighting), expected));
});
