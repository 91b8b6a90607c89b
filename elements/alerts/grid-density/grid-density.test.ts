import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { Scene, Sighting } from "../alert-type.ts";
import { brief, evaluatorOf, placedAt, sceneAt, seenAt } from "../scene.fixture.ts";
import { GridDensity } from "./grid-density.ts";

function gridOf(parts: Parameters<typeof evaluatorOf>[1]): GridDensity {
  const evaluator = evaluatorOf("grid-density", parts);
  assert.ok(evaluator instanceof GridDensity);
  return evaluator;
}

describe("counts", () => {
  /** A bow: concave, with edges that no grid line follows. */
  const polygon = [
    [0.125, 0.25],
    [0.5, 0.375],
    [0.875, 0.25],
    [0.75, 0.875],
    [0.5, 0.625],
    [0.25, 0.875],
  ] as const;

  /** By the side of every edge: the bow is two halves, each the part of the plane below and above two lines. */
  const isInside = (x: number, y: number): boolean => {
    const across = Math.abs(x - 0.5);
    const top = 0.375 - across / 3;
    const bottom = 0.625 + across;
    const outer = 0.375 - (y - 0.25) / 5;
    return y >= top - 1e-12 && y <= bottom + 1e-12 && across <= outer + 1e-12;
  };

  const step = fc.record({
    ms: fc.integer({ min: 1, max: 900 }),
    seen: fc.array(
      fc.record({
        id: fc.integer({ min: 1, max: 12 }),
        x: fc.double({ min: 0.01, max: 0.99, noNaN: true }),
        y: fc.double({ min: 0.02, max: 1, noNaN: true }),
        isCar: fc.boolean(),
        confidence: fc.constantFrom(0.2, 0.5, 0.9),
        isPredicted: fc.boolean(),
      }),
      { maxLength: 12 },
    ),
    ended: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 1 }),
  });

  test("equal a recount of all tracks, for any tracks and any grid", () => {
    let counted = 0;
    fc.assert(
      fc.property(
        fc.array(step, { maxLength: 20 }),
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 6 }),
        fc.boolean(),
        (steps, rows, columns, isWhole) => {
          const evaluator = gridOf({
            region: isWhole ? {} : { type: "image", polygon },
            filter: { class_names: ["car"], min_confidence: 0.5 },
            parameters: { rows, columns },
          });
          const history: { atMs: number; x: number; y: number; isCar: boolean; id: number }[] = [];
          const endedMs = new Map<number, number>();
          let nowMs = 0;
          for (const { ms, seen, ended } of steps) {
            nowMs += ms;
            const unique = [...new Map(seen.map((one) => [one.id, one])).values()].filter(
              ({ id }) => !ended.includes(id),
            );
            for (const id of ended) endedMs.set(id, nowMs);
            for (const one of unique)
              if (!one.isPredicted && one.confidence >= 0.5) history.push({ atMs: nowMs, ...one });
            evaluator.see(
              sceneAt(
                nowMs,
                unique.map(({ id, x, y, isCar, confidence, isPredicted }) =>
                  seenAt(id, x, y, { className: isCar ? "car" : "cat", confidence, predicted: isPredicted }),
                ),
                { ended },
              ),
            );
            const expected = new Map<number, number>();
            for (let id = 1; id <= 12; id++) {
              const last = history.findLast((one) => one.id === id);
              if (last === undefined || nowMs - last.atMs > 1000 || (endedMs.get(id) ?? -1) >= last.atMs) continue;
              const foot = seenAt(id, last.x, last.y).track.box;
              const [x, y] = [foot[0] + foot[2] / 2, foot[1] + foot[3]];
              if (!last.isCar || !(isWhole || isInside(x, y))) continue;
              const [left, top, width, height] = isWhole ? [0, 0, 1, 1] : [0.125, 0.25, 0.75, 0.625];
              const column = Array.from({ length: columns }, (_, i) => i).findLast(
                (i) => x >= left + (width * i) / columns,
              );
              const row = Array.from({ length: rows }, (_, i) => i).findLast((i) => y >= top + (height * i) / rows);
              const cell = (row ?? 0) * columns + (column ?? 0);
              expected.set(cell, (expected.get(cell) ?? 0) + 1);
              counted += 1;
            }
            const sorted = (counts: ReadonlyMap<number, number>) => [...counts].sort(([a], [b]) => a - b);
            assert.deepEqual(sorted(evaluator.counts), sorted(expected));
          }
        },
      ),
      { numRuns: 100 },
    );
    assert.ok(counted > 0, "some tracks are counted");
  });

  test("include tracks at the edge of the image, and on the map across the date line", () => {
    const whole = gridOf({ parameters: { rows: 2, columns: 2 } });
    whole.see(sceneAt(0, [seenAt(1, 1 - 1 / 128, 1), seenAt(2, 0.5, 0.5), seenAt(3, 1 / 128, 1 / 64)]));
    assert.deepEqual([...whole.counts].sort(), [
      [0, 1],
      [3, 2],
    ]);
    const polygonAcross = [
      [179, -1],
      [-179, -1],
      [-179, 1],
      [179, 1],
    ];
    const map = gridOf({ region: { type: "geo", polygon: polygonAcross }, parameters: { rows: 1, columns: 2 } });
    map.see(sceneAt(0, [placedAt(1, 179.5, 0), placedAt(2, -179.5, 0), placedAt(3, 0, 0), seenAt(4, 0.5, 0.5)]));
    assert.deepEqual([...map.counts].sort(), [
      [0, 1],
      [1, 1],
    ]);
  });
});

describe("events", () => {
  /** Two cells, left and right: two tracks for two seconds make a cell dense. */
  const grid = (change: object = {}) =>
    gridOf({
      trigger: { count: 2, for_seconds: 2, cooldown_seconds: 0, ...change },
      parameters: { rows: 1, columns: 2 },
    });
  const left = [seenAt(1, 0.2, 0.5), seenAt(2, 0.3, 0.5)];
  const right = [seenAt(3, 0.7, 0.5), seenAt(4, 0.8, 0.5)];
  const show = (evaluator: GridDensity, ms: number, sightings: readonly Sighting[], change: Partial<Scene> = {}) =>
    brief(evaluator.see(sceneAt(ms, sightings, change)));

  test("come once when a cell was dense for long enough, and once when it is cleared", () => {
    const evaluator = grid();
    assert.deepEqual(show(evaluator, 0, left), []);
    assert.deepEqual(show(evaluator, 1000, [seenAt(1, 0.2, 0.5), seenAt(2, 0.9, 0.5)]), []);
    assert.deepEqual(show(evaluator, 1500, left), []);
    assert.deepEqual(show(evaluator, 3499, left), []);
    const [event] = evaluator.see(sceneAt(3500, left));
    assert.deepEqual(brief(event ? [event] : []), ["triggered 1,2"]);
    assert.deepEqual(event?.data, {
      rows: 1,
      columns: 2,
      cells: [{ row: 0, column: 0, count: 2, since: new Date(1_700_000_001_500).toISOString() }],
    });
    assert.deepEqual(show(evaluator, 4000, left), []);
    assert.deepEqual(show(evaluator, 4500, left.slice(1)), []);
    assert.deepEqual(show(evaluator, 5100, left.slice(1)), ["cleared"]);
    assert.deepEqual(show(evaluator, 5200, []), []);
  });

  test("report other dense cells after the cooldown, and `cleared` at once", () => {
    const evaluator = grid({ for_seconds: 0, cooldown_seconds: 5 });
    assert.deepEqual(show(evaluator, 0, left), ["triggered 1,2"]);
    assert.deepEqual(show(evaluator, 1000, [...left, ...right]), []);
    assert.deepEqual(show(evaluator, 5000, [...left, ...right]), ["updated 1,2,3,4"]);
    assert.deepEqual(show(evaluator, 5500, left, { ended: [3, 4] }), []);
    assert.deepEqual(show(evaluator, 6000, [], { ended: [1, 2] }), ["cleared"]);
    assert.deepEqual(show(evaluator, 7000, right), []);
    assert.deepEqual(show(evaluator, 10_000, right), ["triggered 3,4"]);
  });

  test("a track that is missed briefly keeps the cell dense, an ended one does not", () => {
    const evaluator = grid();
    show(evaluator, 0, left);
    for (const ms of [700, 1500]) {
      show(evaluator, ms - 400, left.slice(1));
      show(evaluator, ms, left.slice(0, 1));
    }
    assert.deepEqual(show(evaluator, 2000, left.slice(1)), ["triggered 1,2"]);
    assert.deepEqual(show(evaluator, 2010, left.slice(1), { ended: [1] }), ["cleared"]);
  });

  test("a jump of the stream clears the cells, and earlier tracks do not count", () => {
    const evaluator = grid({ for_seconds: 0 });
    show(evaluator, 0, left);
    evaluator.forget();
    assert.deepEqual(show(evaluator, 100, left.slice(1)), ["cleared"]);
  });
});
