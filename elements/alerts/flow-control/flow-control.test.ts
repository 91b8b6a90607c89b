import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import type { AlertEvent, Evaluator, Sighting } from "../alert-type.ts";
import type { Point } from "../region.ts";
import { boxAt, brief, evaluatorOf, faultsOf, placedAt, sceneAt, seenAt } from "../scene.fixture.ts";

interface Totals {
  readonly forward: number;
  readonly backward: number;
}

const totalsOf = (events: readonly AlertEvent[]): Totals => {
  const data = events.at(-1)?.data as { forward_total: number; backward_total: number } | undefined;
  return { forward: data?.forward_total ?? 0, backward: data?.backward_total ?? 0 };
};

/** From top to bottom in the middle of the picture: forward is from right to left. */
const MIDDLE = {
  type: "image",
  line: [
    [0.5, 0.25],
    [0.5, 0.75],
  ],
};

function walk(evaluator: Evaluator, sightings: readonly (Sighting | null)[], stepMs = 100): readonly AlertEvent[] {
  return sightings.flatMap((one, i) => evaluator.see(sceneAt(i * stepMs, one === null ? [] : [one])));
}

const across = (...xs: readonly number[]): readonly Sighting[] => xs.map((x) => seenAt(1, x, 0.5));

describe("exactly once, for any path and frame rate", () => {
  /** A sixteenth of the frame: far more than the jitter, and exact as a number. */
  const UNIT = 1 / 16;
  const node = fc.tuple(fc.integer({ min: 1, max: 15 }), fc.integer({ min: 1, max: 15 }));
  const line = fc.tuple(node, node).filter(([a, b]) => a[0] !== b[0] || a[1] !== b[1]);
  const path = fc.array(node, { minLength: 2, maxLength: 12 });

  /**
   * The expected result in whole numbers and without state: between two corners of the path strictly on different sides,
   * with only corners on the line between them, it crosses once, where it leaves the line, if that is between the ends.
   */
  function countCrossings([a, b]: readonly [Point, Point], points: readonly Point[]): Totals {
    const sideOf = ([x, y]: Point) => (b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]);
    const totals = { forward: 0, backward: 0 };
    const off = points.flatMap((point, index) => (sideOf(point) === 0 ? [] : [{ point, index, side: sideOf(point) }]));
    for (const [i, { point, index, side }] of off.entries()) {
      const before = off[i - 1];
      if (before === undefined || Math.sign(before.side) === Math.sign(side)) continue;
      const last = points[index - 1] as Point;
      // Where the last step meets the infinite line, as fractions with a common denominator.
      const denominator = Math.abs(side) + Math.abs(sideOf(last));
      const meeting = [0, 1].map(
        (axis) => Math.abs(side) * (last[axis] ?? 0) + Math.abs(sideOf(last)) * (point[axis] ?? 0),
      );
      const isBetween = [0, 1].every((axis) => {
        const ends = [(a[axis] ?? 0) * denominator, (b[axis] ?? 0) * denominator];
        return (meeting[axis] ?? 0) >= Math.min(...ends) && (meeting[axis] ?? 0) <= Math.max(...ends);
      });
      if (isBetween) totals[side > 0 ? "forward" : "backward"] += 1;
    }
    return totals;
  }

  /** The path at a higher frame rate: each step divided into `parts`, exactly on the path. */
  const refine = (points: readonly Point[], parts: number): readonly Point[] =>
    points.flatMap((point, i): readonly Point[] => {
      const next = points[i + 1];
      if (next === undefined) return [point];
      return Array.from({ length: parts }, (_, k) => [
        point[0] + ((next[0] - point[0]) * k) / parts,
        point[1] + ((next[1] - point[1]) * k) / parts,
      ]);
    });

  test("equals the count by geometry, each way", () => {
    let crossed = 0;
    fc.assert(
      fc.property(
        line,
        path,
        fc.constantFrom(1, 2, 4, 8),
        fc.integer({ min: 1, max: 400 }),
        (ends, points, parts, stepMs) => {
          const scaled = ends.map((point) => point.map((value) => value * UNIT));
          const evaluator = evaluatorOf("flow-control", { region: { type: "image", line: scaled } });
          const sightings = refine(points, parts).map(([x, y]) => seenAt(1, x * UNIT, y * UNIT));
          const expected = countCrossings(ends, points);
          crossed += expected.forward + expected.backward;
          assert.deepEqual(totalsOf(walk(evaluator, sightings, stepMs)), expected);
        },
      ),
      { numRuns: 300 },
    );
    assert.ok(crossed > 100, String(crossed));
  });

  test("also on the map, for any position of the line, also across the date line", () => {
    const origin = fc.tuple(fc.constantFrom(-180, -179.999, 0, 11.5, 179.999), fc.constantFrom(-60, 0, 48));
    fc.assert(
      fc.property(line, path, fc.constantFrom(1, 4), origin, (ends, points, parts, [east, north]) => {
        const toMap = ([x, y]: Point): Point => {
          const longitude = east + (x - 8) / 1024;
          return [longitude < -180 ? longitude + 360 : longitude > 180 ? longitude - 360 : longitude, north - y / 1024];
        };
        const evaluator = evaluatorOf("flow-control", { region: { type: "geo", line: ends.map(toMap) } });
        const sightings = refine(points, parts).map((point) => placedAt(1, ...toMap(point)));
        // Degrees are not exact sixteenths: skip points that lie exactly on the line or at its ends.
        const isNear = points.some((point) => countCrossings(ends, [point, point]) && isInLine(ends, point));
        fc.pre(!isNear && !passesAnEnd(ends, points));
        assert.deepEqual(totalsOf(walk(evaluator, sightings)), countCrossings(ends, points));
      }),
      { numRuns: 100 },
    );
  });

  const turnOf = (a: Point, b: Point, c: Point) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);
  const isInLine = ([a, b]: readonly [Point, Point], point: Point) => turnOf(a, b, point) === 0;
  const passesAnEnd = (ends: readonly [Point, Point], points: readonly Point[]) =>
    points.some((point, i) =>
      ends.some((end) => turnOf(point, points[i + 1] ?? point, end) === 0 && i + 1 < points.length),
    );

  test("also across frames on which the track is missing or predicted", () => {
    const guess = seenAt(1, 0.1, 0.5, { predicted: true });
    for (const gap of [[], [null], [guess], [guess, null, guess]]) {
      const evaluator = evaluatorOf("flow-control", { region: MIDDLE });
      const [before, after] = across(0.7, 0.3);
      assert.deepEqual(totalsOf(walk(evaluator, [before ?? null, ...gap, after ?? null])), { forward: 1, backward: 0 });
    }
    // A track that turns back before the line has not crossed, though it was predicted there.
    const turned = walk(evaluatorOf("flow-control", { region: MIDDLE }), [
      ...across(0.7, 0.6),
      seenAt(1, 0.4, 0.5, { predicted: true }),
      ...across(0.6, 0.7),
    ]);
    assert.deepEqual(turned, []);
  });
});

describe("at the line", () => {
  for (const [words, xs, forward, backward] of [
    ["jumping across in one frame", [0.9, 0.1], 1, 0],
    ["touching it and going back", [0.6, 0.5, 0.6], 0, 0],
    ["standing on it and continuing", [0.6, 0.5, 0.5, 0.5, 0.4], 1, 0],
    ["coming from it", [0.5, 0.5, 0.4], 0, 0],
    ["going there and back", [0.6, 0.4, 0.6], 1, 1],
    ["jittering around it", [0.6, 0.4995, 0.5005, 0.4995, 0.5005, 0.4995, 0.5005], 0, 0],
    ["jittering around it and continuing", [0.6, 0.4995, 0.5005, 0.4995, 0.5005, 0.4], 1, 0],
    ["beginning next to it", [0.5004, 0.4], 1, 0],
  ] as const)
    test(`${words} counts ${forward} forward and ${backward} backward`, () => {
      const events = walk(evaluatorOf("flow-control", { region: MIDDLE }), across(...xs));
      assert.deepEqual(totalsOf(events), { forward, backward });
    });

  test("a track that goes around the end of the line has not crossed; going back through it counts", () => {
    const around = [seenAt(1, 0.6, 0.5), seenAt(1, 0.6, 0.9), seenAt(1, 0.4, 0.9), seenAt(1, 0.4, 0.5)];
    const evaluator = evaluatorOf("flow-control", { region: MIDDLE });
    assert.deepEqual(walk(evaluator, around), []);
    assert.deepEqual(totalsOf(evaluator.see(sceneAt(400, across(0.6)))), { forward: 0, backward: 1 });
  });

  test("its ends belong to it", () => {
    for (const y of [0.25, 0.75])
      assert.equal(
        walk(evaluatorOf("flow-control", { region: MIDDLE }), [seenAt(1, 0.6, y), seenAt(1, 0.4, y)]).length,
        1,
      );
  });

  test("the foot of the box decides, and a larger box must be further past the line", () => {
    const at = (x: number, y: number): Sighting => {
      const one = seenAt(1, x, y);
      return { ...one, track: { ...one.track, box: boxAt(x, y, 0.4, 0.4) } };
    };
    const level = { region: { type: "image", line: [[0, 0.5], [1, 0.5]] } }; // biome-ignore format: points
    assert.deepEqual(totalsOf(walk(evaluatorOf("flow-control", level), [at(0.5, 0.45), at(0.5, 0.515)])), {
      forward: 0,
      backward: 0,
    });
    assert.deepEqual(totalsOf(walk(evaluatorOf("flow-control", level), [at(0.5, 0.45), at(0.5, 0.53)])), {
      forward: 1,
      backward: 0,
    });
  });

  test("forward is from left to right when facing along the line, on the map with north up", () => {
    const north = { region: { type: "geo", line: [[11, 48], [11, 48.001]] } }; // biome-ignore format: points
    const eastward = [placedAt(1, 10.9995, 48.0005), placedAt(1, 11.0005, 48.0005)];
    assert.deepEqual(totalsOf(walk(evaluatorOf("flow-control", north), eastward)), { forward: 1, backward: 0 });
    const upward = { region: { type: "image", line: [[0.5, 1], [0.5, 0]] } }; // biome-ignore format: points
    assert.deepEqual(totalsOf(walk(evaluatorOf("flow-control", upward), across(0.4, 0.6))), {
      forward: 1,
      backward: 0,
    });
  });
});

describe("an event", () => {
  const go = (id: number, x: number): Sighting => seenAt(id, x, 0.5);
  const cross = (evaluator: Evaluator, ms: number, ...ids: readonly number[]) => [
    ...evaluator.see(
      sceneAt(
        ms - 50,
        ids.map((id) => go(id, 0.6)),
      ),
    ),
    ...evaluator.see(
      sceneAt(
        ms,
        ids.map((id) => go(id, 0.4)),
      ),
    ),
  ];

  test("comes when enough tracks have crossed within the window, and lists them", () => {
    const evaluator = evaluatorOf("flow-control", {
      region: MIDDLE,
      trigger: { count: 3 },
      parameters: { window_seconds: 10 },
    });
    assert.deepEqual(cross(evaluator, 1000, 1), []);
    assert.deepEqual(cross(evaluator, 8000, 2), []);
    // The first has left the window.
    assert.deepEqual(cross(evaluator, 11_000, 3), []);
    const events = cross(evaluator, 12_000, 4);
    assert.deepEqual(brief(events), ["triggered 2,3,4"]);
    assert.deepEqual(events[0]?.data, {
      count: 3,
      direction: "any",
      window_seconds: 10,
      crossings: [8, 11, 12].map((second, i) => ({
        track_id: i + 2,
        direction: "forward",
        timestamp: new Date(1_700_000_000_000 + second * 1000).toISOString(),
      })),
      forward_total: 4,
      backward_total: 0,
    });
  });

  test("counts each track once, however often it crossed", () => {
    const evaluator = evaluatorOf("flow-control", { region: MIDDLE, trigger: { count: 2 } });
    const to = [0.6, 0.4, 0.6, 0.4, 0.6, 0.4].map((x) => go(1, x));
    assert.deepEqual(walk(evaluator, to), []);
    assert.deepEqual(brief(cross(evaluator, 700, 2)), ["triggered 1,2"]);
  });

  test("respects the configured direction and the cooldown", () => {
    const evaluator = evaluatorOf("flow-control", {
      region: MIDDLE,
      trigger: { direction: "backward", cooldown_seconds: 5 },
    });
    assert.deepEqual(cross(evaluator, 1000, 1), []);
    assert.deepEqual(brief(evaluator.see(sceneAt(2000, [go(1, 0.6)]))), ["triggered 1"]);
    evaluator.see(sceneAt(3000, [go(1, 0.4)]));
    assert.deepEqual(evaluator.see(sceneAt(6999, [go(1, 0.6)])), []);
    evaluator.see(sceneAt(7000, [go(1, 0.4)]));
    assert.deepEqual(brief(evaluator.see(sceneAt(7001, [go(1, 0.6)]))), ["triggered 1"]);
  });

  test("respects the filter; a detection of low confidence is ignored", () => {
    const evaluator = evaluatorOf("flow-control", {
      region: MIDDLE,
      filter: { class_names: ["car"], min_confidence: 0.5 },
    });
    const car = (x: number, confidence = 0.9) => seenAt(2, x, 0.5, { className: "car", confidence });
    assert.deepEqual(cross(evaluator, 100, 1), []);
    assert.deepEqual(walk(evaluator, [car(0.6), car(0.4, 0.4), car(0.6)]), []);
    assert.deepEqual(brief(walk(evaluator, [car(0.6), car(0.4, 0.4), car(0.3)])), ["triggered 2"]);
  });

  test("the state of a track is dropped when it ends, is missing for long, or the stream jumps", () => {
    const resets: readonly ((evaluator: Evaluator) => unknown)[] = [
      (evaluator) => evaluator.see(sceneAt(100, [], { ended: [1] })),
      (evaluator) => evaluator.see(sceneAt(300_000, [])),
      (evaluator) => evaluator.forget(),
    ];
    for (const reset of resets) {
      const evaluator = evaluatorOf("flow-control", { region: MIDDLE });
      evaluator.see(sceneAt(0, [go(1, 0.6)]));
      reset(evaluator);
      assert.deepEqual(evaluator.see(sceneAt(300_100, [go(1, 0.4)])), []);
    }
  });
});

test("rejects a line without length or outside the image", () => {
  const lineOf = (line: unknown, type = "image") => faultsOf("flow-control", { region: { type, line } });
  assert.match(faultsOf("flow-control").join(), /^\/region\/line is missing; expected a list/);
  assert.match(lineOf([[0, 0]]).join(), /^\/region\/line is a list of 1; expected a list of 2/);
  assert.match(lineOf([[0.5, 0.5], [0.5, 0.5]]).join(), /^\/region\/line has no length/); // biome-ignore format: points
  assert.match(lineOf([[0, 0], [1.5, 1]]).join(), /^\/region\/line\/1 is \[1.5, 1\]; expected \[x, y\] in fractions/); // biome-ignore format: points
  assert.match(lineOf([[180, 1], [-180, 1]], "geo").join(), /has no length/); // biome-ignore format: points
  assert.match(
    faultsOf("flow-control", { region: { ...MIDDLE, polygon: [] } }).join(),
    /^\/region\/polygon is not known here; type or line are/,
  );
});
