import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareFrames } from "./compare-frames.ts";
import { film, move, type Scene, seen } from "./film.fixture.ts";
import type { SeenFrame, SeenObject } from "./frames.ts";
import { describe } from "./report.ts";
import { LEVELS, type Tolerance } from "./tolerance.ts";

const THRESHOLDS = [0.4];

const { exact: EXACT, same: SAME, other: OTHER } = LEVELS;

/** Two cars that stay, one that drives. */
const scene: Scene = (frame) => [seen(1, 0), seen(2, 200), seen(3, 300 + frame * 2)];
const GOLDEN = film(scene);

const compare = (golden: readonly SeenFrame[], now: readonly SeenFrame[], tolerance: Tolerance = OTHER) =>
  compareFrames(golden, now, tolerance, THRESHOLDS);
const found = (golden: readonly SeenFrame[], now: readonly SeenFrame[], tolerance: Tolerance = OTHER) =>
  compare(golden, now, tolerance).differences.map(describe);
const change = (frames: readonly SeenFrame[], to: (object: SeenObject, frame: number) => Partial<SeenObject>) =>
  frames.map((frame, index) => ({
    ...frame,
    objects: frame.objects.map((object) => ({ ...object, ...to(object, index + 1) })),
  }));

test("a run is the same as itself, to the last digit", () => {
  assert.deepEqual(compare(GOLDEN, film(scene), EXACT), { frames: 40, objects: 120, differences: [], excused: 0 });
});

test("reports a box that has moved with its frame, track and distance", () => {
  const now = film((frame) => scene(frame).map((object) => (frame >= 12 && object?.id === 2 ? seen(2, 223) : object)));
  assert.deepEqual(found(GOLDEN, now).slice(0, 2), [
    "frame 12 (0.440 s): track 2 box is off by 23.0 px (IoU 0.27)",
    "frame 13 (0.480 s): track 2 box is off by 23.0 px (IoU 0.27)",
  ]);
  assert.equal(compare(GOLDEN, now).differences[0]?.amount, 23);
});

test("accepts on another machine a step of the box and of the confidence, up and down", () => {
  const now = change(GOLDEN, (object, frame) => {
    const step = (frame + object.id) % 2 === 0 ? 1 : -1;
    return { ...move(object, step), confidence: 80 + step * 5 };
  });
  assert.deepEqual(found(GOLDEN, now), []);
  assert.equal(found(GOLDEN, now, SAME).length, 240);
  assert.equal(found(GOLDEN, now, EXACT).length, 240);
});

test("accepts on the same machine the last digit that is written, and no more", () => {
  const off = (by: number) => change(GOLDEN, (object) => ({ ...move(object, by), confidence: 80 + by }));
  assert.deepEqual(found(GOLDEN, off(0.01), SAME), []);
  assert.equal(found(GOLDEN, off(0.01), EXACT).length, 240);
  assert.equal(found(GOLDEN, off(0.5), SAME).length, 240);
});

test("accepts two pixels on a box of a few", () => {
  const tiny = (x: number) => film((frame) => [seen(1, 0, { box: [frame % 2 === 0 ? x : 20, 10, 6, 6] })]);
  const boxes = (x: number) => compare(tiny(20), tiny(x)).differences.filter(({ kind }) => kind === "box");
  assert.deepEqual(boxes(22), []);
  assert.match(boxes(22.5)[0]?.what ?? "", /off by 2\.5 px \(IoU 0\.41\)/);
});

test("compares every field of the message", () => {
  const first = (part: Partial<SeenObject>) => change(GOLDEN, ({ id }, frame) => (frame === 1 && id === 1 ? part : {}));
  const topped = GOLDEN.map((frame, index) => (index === 0 ? { ...frame, others: { foo: 1 } } : frame));
  for (const tolerance of [EXACT, SAME, OTHER]) {
    assert.match(
      found(GOLDEN, first({ scaledBox: [0, 0, 0, 0] }), tolerance).join(),
      /^frame 1 \(0\.000 s\): track 1 scaled_bbox is \[0,0,0,0\], was/,
    );
    assert.deepEqual(found(GOLDEN, first({ others: { altitude: 3 } }), tolerance), [
      "frame 1 (0.000 s): track 1 altitude is 3, was null",
    ]);
    assert.deepEqual(found(GOLDEN, topped, tolerance), ["frame 1 (0.000 s): foo is 1, was null"]);
  }
  assert.deepEqual(found(GOLDEN, first({ className: "bus" }), SAME), [
    "frame 1 (0.000 s): track 1 is a bus, was a car",
  ]);
  assert.deepEqual(found(GOLDEN, first({ classId: 99 }), SAME), [
    "frame 1 (0.000 s): track 1 has the class_id 99, had 2",
  ]);
  assert.deepEqual(found(GOLDEN, first({ confidence: 71.5 }), SAME), [
    "frame 1 (0.000 s): track 1 confidence is -8.5 points",
  ]);
});

test("compares on another machine what one of the runs is confident of, and nothing else", () => {
  const withGuest = (confidence: number) => film((frame) => [...scene(frame), seen(4, 500, { confidence })]);
  for (const [golden, now] of [
    [withGuest(49), GOLDEN],
    [GOLDEN, withGuest(49)],
    [withGuest(49), withGuest(12)],
  ] as const)
    assert.deepEqual({ ...compare(golden, now), frames: 0 }, { frames: 0, objects: 120, differences: [], excused: 0 });
  assert.equal(found(withGuest(51), GOLDEN)[0], "frame 1 (0.000 s): track 4 car is missing");
  assert.equal(found(GOLDEN, withGuest(51))[0], "frame 1 (0.000 s): track 4 car is new");
  assert.equal(found(withGuest(51), withGuest(41))[0], "frame 1 (0.000 s): track 4 confidence is -10.0 points");
  assert.equal(found(withGuest(49), GOLDEN, SAME).length, 40);
});

/** 200 objects: up to 4 may differ. */
const LONG = film((frame) => [seen(1, frame * 2), seen(2, 600)], 100);
const without = (isLeftOut: (frame: number) => boolean) =>
  LONG.map((frame, index) => ({
    ...frame,
    objects: frame.objects.filter(({ id }) => id !== 2 || !isLeftOut(index + 1)),
  }));
const absences: readonly (readonly [what: string, isLeftOut: (frame: number) => boolean, differences: number])[] = [
  ["for 4 frames", (frame) => frame > 20 && frame <= 24, 0],
  ["for one frame, 4 times", (frame) => frame % 20 === 10 && frame < 80, 0],
  ["for one frame, 5 times", (frame) => frame % 20 === 10, 5],
  ["for 6 frames", (frame) => frame > 20 && frame <= 26, 6],
];
for (const [what, isLeftOut, differences] of absences)
  test(`${differences === 0 ? "accepts" : "reports"} a confident object that is missing ${what}`, () => {
    const { excused, ...comparison } = compare(LONG, without(isLeftOut));
    assert.equal(comparison.differences.length, differences, comparison.differences.map(describe).join("\n"));
    assert.equal(excused, differences === 0 ? 4 : 0);
    assert.ok(compare(without(isLeftOut), LONG).differences.every(({ kind }) => kind === "extra"));
    assert.notEqual(compare(LONG, without(isLeftOut), SAME).differences.length, 0);
  });

test("a few frames of one object are accepted only where the run is long enough for it", () => {
  const ids = (frame: SeenFrame) => frame.objects.filter(({ id }) => id !== 3);
  const now = GOLDEN.map((frame, index) => (index < 4 ? { ...frame, objects: ids(frame) } : frame));
  assert.equal(found(GOLDEN, now).length, 4, "of 120 objects 3 may differ");
});

test("reports lost and new tracking once per track", () => {
  const untracked = change(GOLDEN, () => ({ id: 0 }));
  for (const tolerance of [EXACT, SAME, OTHER]) {
    const gone = found(GOLDEN, untracked, tolerance).filter((line) => line.startsWith("frame"));
    assert.deepEqual(gone.slice(0, 1), ["frame 1 (0.000 s): track 1 is no longer tracked"]);
    assert.equal(gone.length, 3);
    assert.equal(found(untracked, GOLDEN, tolerance)[0], "frame 1 (0.000 s): an object is tracked, as 1");
  }
});

test("another id is one difference, not one a frame", () => {
  const now = change(GOLDEN, ({ id }) => (id === 3 ? { id: 5 } : {}));
  assert.deepEqual(found(GOLDEN, now, SAME), ["frame 1 (0.000 s): track 3 has the id 5, expected 3"]);
  assert.deepEqual(found(GOLDEN, now), [], "on another machine ids are names: who keeps one counts");
});

test("an object that is seen keeps its id, on every machine", () => {
  const now = change(GOLDEN, ({ id }, frame) => (id === 2 && frame >= 35 ? { id: 4 } : {}));
  for (const tolerance of [EXACT, SAME, OTHER]) {
    assert.deepEqual(found(GOLDEN, now, tolerance), ["frame 35 (1.360 s): track 2 has the id 4, expected 2"]);
  }
  assert.deepEqual(found(now, GOLDEN), ["frame 35 (1.360 s): track 4 has the id 2, which was that of track 2"]);
});

test("an object that was hidden may come back with another id on another machine", () => {
  const hidden = (gap: number, id: number) =>
    film((frame) => [seen(1, 0), frame <= 10 ? seen(2, 200) : frame > 10 + gap ? seen(id, 200) : null], 200);
  assert.deepEqual(found(hidden(1, 2), hidden(1, 3)), []);
  assert.deepEqual(found(hidden(0, 2), hidden(0, 3)), ["frame 11 (0.400 s): track 2 has the id 3, expected 2"]);
  assert.equal(found(hidden(1, 2), hidden(1, 3), SAME).length, 1);
});

test("reports two that swap ids where they meet as other ids, not as moved boxes", () => {
  const cross = (swap: boolean) =>
    film((frame) => {
      const other = swap && frame > 25;
      const right = 400 - frame * 6;
      return [seen(other ? 2 : 1, frame * 10), seen(other ? 1 : 2, right, { box: [right, 150, 40, 80] })];
    });
  assert.deepEqual(found(cross(false), cross(true)), [
    "frame 26 (1.000 s): track 1 has the id 2, expected 1",
    "frame 26 (1.000 s): track 2 has the id 1, expected 2",
    "only 63 % of 80 objects are in the same track in both runs",
  ]);
});

test("reports a frame that only one run has, not its objects", () => {
  const now = GOLDEN.filter((_, index) => index !== 9);
  assert.deepEqual(found(GOLDEN, now), ["frame 10 (0.360 s): the message of this frame is missing"]);
  assert.deepEqual(found(now, GOLDEN), ["frame 10 (0.360 s): the message of this frame is new"]);
});

test("reports a second message with one time", () => {
  const twice = GOLDEN.flatMap((frame, index) => (index === 9 ? [frame, frame] : [frame]));
  for (const tolerance of [EXACT, SAME, OTHER]) {
    assert.deepEqual(found(GOLDEN, twice, tolerance), ["frame 11 (0.360 s): the message of this frame is new"]);
    assert.deepEqual(found(twice, twice, tolerance), []);
  }
});

test("compares objects without ids by their place", () => {
  const untracked = (shift: number) =>
    change(GOLDEN, (object, frame) => ({
      ...move(object, frame === 7 ? shift : 0),
      id: 0,
    }));
  assert.deepEqual(found(untracked(0), untracked(1)), []);
  assert.deepEqual(found(untracked(0), untracked(12), SAME).slice(0, 1), [
    "frame 7 (0.240 s): an object box is off by 12.0 px (IoU 0.54)",
  ]);
});

const anyFrames = fc
  .array(
    fc.uniqueArray(
      fc.record({
        id: fc.integer({ min: 1, max: 9 }),
        classId: fc.constantFrom(0, 2),
        className: fc.constantFrom("car", "person"),
        box: fc.tuple(
          fc.integer({ min: 0, max: 600 }),
          fc.integer({ min: 0, max: 300 }),
          fc.integer({ min: 1, max: 99 }),
          fc.integer({ min: 1, max: 99 }),
        ),
        scaledBox: fc.constant([0, 0, 0, 0] as const),
        confidence: fc.integer({ min: 0, max: 100 }),
        others: fc.constant({}),
      }),
      { selector: ({ id }) => id, maxLength: 6 },
    ),
    { maxLength: 12 },
  )
  .map((frames) => frames.map((objects, index) => ({ timeMs: index * 40, others: {}, objects })));

test("any run is the same as itself, in whatever order a frame lists its objects", () =>
  fc.assert(
    fc.property(anyFrames, (frames) => {
      const turned = frames.map((frame) => ({ ...frame, objects: [...frame.objects].reverse() }));
      for (const tolerance of [EXACT, OTHER])
        assert.deepEqual(compareFrames(frames, turned, tolerance, THRESHOLDS).differences, []);
    }),
  ));

test("any two runs are compared, and no object is counted twice", () =>
  fc.assert(
    fc.property(anyFrames, anyFrames, (golden, now) => {
      const { differences, excused, objects } = compare(golden, now);
      const alone = differences.filter(({ kind }) => kind === "missing" || kind === "extra").length;
      assert.ok(alone <= objects && excused <= Math.ceil((objects * OTHER.share) / 100));
    }),
  ));
