import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { type Boxes, frame, part, sequence, square } from "./compare.fixture.ts";
import type { FrameBoxes, MotSequence } from "./compare.ts";
import { ALPHAS } from "./hota.ts";
import { type MotScores, scoreMot } from "./score-mot.ts";

const scoreOf = (frames: readonly (readonly [Boxes, Boxes])[]): MotScores => scoreMot([sequence(frames)]).combined;

function near(found: number, expected: number, what: string): void {
  assert.ok(Math.abs(found - expected) < 1e-12, `${what} is ${found}, not ${expected}`);
}

describe("by hand", () => {
  test("a track that breaks in the middle costs half of the association", () => {
    // One object in 4 frames, found exactly every time: as track 7 twice, then as track 8 twice.
    // Detection: 4 matches, nothing missed, nothing surplus: DetA = 4 / 4.
    // Association: either pair is together 2 times, over 4 + 2 - 2 = 4 boxes: 1/2; weighted by matches 1/2.
    // HOTA = √(1 · 1/2). MOTA = (4 - 0 - 1 switch) / 4. Identity: 2 of 4 lie on their object, 2 missed, 2 surplus.
    const found = scoreOf([
      [{ 1: square() }, { 7: square() }],
      [{ 1: square() }, { 7: square() }],
      [{ 1: square() }, { 8: square() }],
      [{ 1: square() }, { 8: square() }],
    ]);
    near(found.detA, 1, "DetA");
    near(found.assA, 1 / 2, "AssA");
    near(found.hota, Math.sqrt(1 / 2), "HOTA");
    near(found.locA, 1, "LocA");
    near(found.mota, 3 / 4, "MOTA");
    near(found.idf1, 2 / (2 + (2 + 2) / 2), "IDF1");
    assert.equal(found.switches, 1);
    assert.equal(found.mostlyTracked, 1);
  });

  test("boxes count at the overlaps they reach", () => {
    // Overlap 0.6 reaches 12 of the 19 overlaps, 0.05 to 0.60; at the other 7 there is no match, and LocA is 1 there.
    const found = scoreOf([[{ 1: square() }, { 7: part(0.6) }]]);
    near(found.hota, 12 / 19, "HOTA");
    near(found.detA, 12 / 19, "DetA");
    near(found.assA, 12 / 19, "AssA");
    near(found.locA, (12 * 0.6 + 7) / 19, "LocA");
    near(found.mota, 1, "MOTA");
    near(found.idf1, 1, "IDF1");
  });

  test("what is missed and what is surplus weigh alike", () => {
    // 2 frames, 2 objects; one is tracked, the other never; one track lies where nothing is.
    // 2 matches, 2 missed, 2 surplus: DetA = 2 / 6, AssA = 1, MOTA = (2 - 2) / 4, IDF1 = 2 / (2 + 4 / 2).
    const each: readonly [Boxes, Boxes] = [
      { 1: square(0), 2: square(1) },
      { 7: square(0), 8: square(2) },
    ];
    const found = scoreOf([each, each]);
    near(found.detA, 1 / 3, "DetA");
    near(found.assA, 1, "AssA");
    near(found.hota, Math.sqrt(1 / 3), "HOTA");
    near(found.mota, 0, "MOTA");
    near(found.idf1, 1 / 2, "IDF1");
    assert.deepEqual([found.missed, found.surplus, found.switches], [2, 2, 0]);
    assert.deepEqual([found.mostlyTracked, found.mostlyLost, found.objects], [1, 1, 2]);
  });

  test("a match is kept while it overlaps by half, though another overlaps more", () => {
    // Frame 2 keeps track 7 at 0.6 against 0.9. In frame 3 it is below half: the switch. 3 matches, 2 surplus.
    const found = scoreOf([
      [{ 1: square() }, { 7: square() }],
      [{ 1: square() }, { 7: part(0.6), 8: part(0.9) }],
      [{ 1: square() }, { 7: part(0.4), 8: part(0.9) }],
    ]);
    assert.deepEqual([found.switches, found.surplus, found.missed], [1, 2, 0]);
    near(found.mota, (3 - 2 - 1) / 3, "MOTA");
  });

  test("a match that paused for a frame is not kept against a better one", () => {
    // Frame 2 has other tracks but none on the object; frame 3 then takes the better overlap, which is a switch.
    const found = scoreOf([
      [{ 1: square() }, { 7: square() }],
      [{ 1: square() }, { 9: square(1) }],
      [{ 1: square() }, { 7: part(0.6), 8: part(0.9) }],
    ]);
    assert.equal(found.switches, 1);
  });

  test("frames without any track break no match off", () => {
    const found = scoreOf([
      [{ 1: square() }, { 7: square() }],
      [{ 1: square() }, {}],
      [{ 1: square() }, { 7: part(0.6), 8: part(0.9) }],
    ]);
    assert.equal(found.switches, 0);
  });

  test("a switch counts however long the object was lost", () => {
    const lost: readonly [Boxes, Boxes] = [{ 1: square() }, {}];
    const found = scoreOf([
      [{ 1: square() }, { 7: square() }],
      ...Array(20).fill(lost),
      [{ 1: square() }, { 8: square() }],
    ]);
    assert.equal(found.switches, 1);
    assert.equal(found.mostlyLost, 1);
  });

  test("HOTA takes the match that fits the whole sequence, not the one that overlaps most", () => {
    // Track 7 is on the object in all 10 frames, in the last by 0.8; there track 8 overlaps by 0.95.
    // With 7 matched throughout, at low overlaps: 10 matches, 1 surplus, and 7 and the object are always together.
    const together: readonly [Boxes, Boxes] = [{ 1: square() }, { 7: part(0.9) }];
    const { curves } = scoreOf([...Array(9).fill(together), [{ 1: square() }, { 7: part(0.8), 8: part(0.95) }]]);
    near(curves.detA[0] ?? 0, 10 / 11, "DetA at 0.05");
    near(curves.assA[0] ?? 0, 1, "AssA at 0.05");
    // At 0.85 the last frame has no match: 9 matches, 1 missed, 2 surplus; together in 9 of 10 + 10 - 9 boxes.
    const at = ALPHAS.indexOf(0.85);
    near(curves.detA[at] ?? 0, 9 / 12, "DetA at 0.85");
    near(curves.assA[at] ?? 0, 9 / 11, "AssA at 0.85");
  });

  test("identity gives each object one track for the whole sequence", () => {
    // Object 1 is track 7 for 3 frames, then 8 for 2; object 2 is 8 for 3 frames, then 7 for 2 (they swap).
    // Best: 1 with 7 and 2 with 8, 3 + 3 boxes of 10. IDF1 = 6 / (6 + (4 + 4) / 2).
    const before: readonly [Boxes, Boxes] = [
      { 1: square(0), 2: square(1) },
      { 7: square(0), 8: square(1) },
    ];
    const after: readonly [Boxes, Boxes] = [before[0], { 8: square(0), 7: square(1) }];
    const found = scoreOf([before, before, before, after, after]);
    near(found.idf1, 6 / 10, "IDF1");
    assert.equal(found.switches, 2);
  });

  test("every match weighs the same when sequences are put together", () => {
    // First: 4 matches at AssA 1/2 (a track that breaks). Second: 2 matches at AssA 1, and 2 missed.
    // DetA = (4 + 2) / (4 + 4), AssA = (4 · 1/2 + 2 · 1) / 6, MOTA = (6 - 1) / 8, IDF1 = 4 / (4 + (4 + 2) / 2).
    const broken = sequence([7, 7, 8, 8].map((id) => [{ 1: square() }, { [id]: square() }] as const));
    const half = sequence(Array(2).fill([{ 1: square(0), 2: square(1) }, { 7: square(0) }]));
    const { combined } = scoreMot([broken, half]);
    near(combined.detA, 6 / 8, "DetA");
    near(combined.assA, 4 / 6, "AssA");
    near(combined.hota, Math.sqrt((6 / 8) * (4 / 6)), "HOTA");
    near(combined.mota, 5 / 8, "MOTA");
    near(combined.idf1, 4 / 7, "IDF1");
  });
});

describe("at the edges", () => {
  test("no results: everything is missed", () => {
    const found = scoreOf([[{ 1: square() }, {}]]);
    assert.deepEqual([found.hota, found.mota, found.idf1, found.missed, found.mostlyLost], [0, 0, 0, 1, 1]);
  });

  test("no ground truth: everything is surplus", () => {
    const found = scoreOf([[{}, { 7: square() }]]);
    assert.deepEqual([found.hota, found.mota, found.idf1, found.surplus, found.objects], [0, 0, 0, 1, 0]);
  });

  test("no sequences, no frames, empty frames: zeros, never NaN", () => {
    for (const { combined } of [scoreMot([]), scoreMot([sequence([])]), scoreMot([sequence([[{}, {}]])])])
      assert.deepEqual([combined.hota, combined.mota, combined.idf1], [0, 0, 0]);
  });

  test("boxes without area match nothing", () => {
    const found = scoreOf([[{ 1: [0, 0, 0, 10] }, { 7: [0, 0, 0, 10] }]]);
    assert.deepEqual([found.hota, found.missed, found.surplus], [0, 1, 1]);
  });

  test("rejects an id twice in a frame", () => {
    const twice: FrameBoxes = { ids: [7, 7], boxes: Float64Array.from([...square(0), ...square(1)]) };
    const made: MotSequence = { name: "made", truth: [frame({ 1: square() })], results: [twice] };
    assert.throws(() => scoreMot([made]), /results of made: id 7 occurs twice in frame 1/);
  });

  test("results of another length are refused", () => {
    const made: MotSequence = { name: "made", truth: [frame({})], results: [] };
    assert.throws(() => scoreMot([made]), /1 frames of ground truth, but 0 of results/);
  });
});

const boxes = fc
  .dictionary(
    fc.integer({ min: 1, max: 4 }).map(String),
    fc.tuple(
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 12 }),
    ),
  )
  .map((found) => found as unknown as Boxes);
const made = fc.array(fc.tuple(boxes, boxes), { minLength: 1, maxLength: 8 });

describe("always", () => {
  test("truth scored against itself is perfect", () => {
    const places = fc.uniqueArray(fc.integer({ min: 0, max: 5 }), { maxLength: 5 });
    fc.assert(
      fc.property(fc.array(places, { minLength: 1, maxLength: 8 }), (frames) => {
        fc.pre(frames.some((each) => each.length > 0));
        const found = scoreOf(
          frames.map((each) => {
            const there = Object.fromEntries(each.map((place, index) => [index + 1, square(place)]));
            return [there, there];
          }),
        );
        for (const score of [found.hota, found.detA, found.assA, found.locA, found.mota, found.idf1])
          near(score, 1, "a perfect score");
        assert.equal(found.switches, 0);
      }),
    );
  });

  test("identity does not depend on the numbers that tracks have", () => {
    fc.assert(
      fc.property(made, (frames) => {
        const renamed = frames.map(([truth, results]) => {
          const others = Object.entries(results).map(([id, box]) => [50 - Number(id), box] as const);
          return [truth, Object.fromEntries(others)] as const;
        });
        near(scoreOf(frames).idf1, scoreOf(renamed).idf1, "IDF1");
      }),
    );
  });

  test("identity is the best of all ways to give objects tracks", () => {
    fc.assert(
      fc.property(made, (frames) => {
        const { sequences } = scoreMot([sequence(frames)]);
        const { comparison, idf1 } = sequences[0] as (typeof sequences)[0];
        const together = (object: number, track: number): number =>
          comparison.frames.filter(({ objects, tracks, overlaps }) => {
            const [row, column] = [objects.indexOf(object), tracks.indexOf(track)];
            return row !== -1 && column !== -1 && (overlaps[row * tracks.length + column] as number) >= 0.5;
          }).length;
        const best = (object: number, free: readonly number[]): number =>
          object === comparison.objectIds.length
            ? 0
            : Math.max(
                best(object + 1, free),
                ...free.map((track) => together(object, track) + best(object + 1, without(free, track))),
              );
        const count = comparison.frames.reduce((sum, { objects, tracks }) => sum + objects.length + tracks.length, 0);
        const matched = best(0, [...comparison.trackIds.keys()]);
        near(idf1, count === 0 ? 0 : matched / Math.max(1, count / 2), "IDF1");
      }),
      { numRuns: 60 },
    );
  });
});

const without = (list: readonly number[], one: number): readonly number[] => list.filter((each) => each !== one);
