import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { compareFrames } from "./compare-frames.ts";
import type { SeenBox, SeenFrame, SeenObject } from "./frames.ts";
import { describe } from "./report.ts";
import { LEVELS, type Tolerance } from "./tolerance.ts";

const THRESHOLDS = [0.4, 0.1];

const { exact: EXACT, same: SAME, other: OTHER } = LEVELS;
const [WIDTH, HEIGHT] = [1280, 720];

const scale = ([x, y, width, height]: SeenBox): SeenBox => [x / WIDTH, y / HEIGHT, width / WIDTH, height / HEIGHT];

const seen = (id: number, x: number, part: Partial<SeenObject> = {}): SeenObject => {
  const box = part.box ?? [x, 100, 40, 80];
  return { id, classId: 2, className: "car", box, scaledBox: scale(box), confidence: 80, others: {}, ...part };
};

/** 40 frames, 25 a second; `at` says what is in frame n, from 1. */
const film = (at: (frame: number) => readonly (SeenObject | null)[], frames = 40): readonly SeenFrame[] =>
  Array.from({ length: frames }, (_, index) => ({
    timeMs: index * 40,
    others: {},
    objects: at(index + 1).filter((object) => object !== null),
  }));

/** Two cars that stay, one that drives. */
const scene = (frame: number) => [seen(1, 0), seen(2, 200), seen(3, 300 + frame * 2)];
const GOLDEN = film(scene);

const compare = (golden: readonly SeenFrame[], now: readonly SeenFrame[], tolerance: Tolerance = OTHER) =>
  compareFrames(golden, now, tolerance, THRESHOLDS);
const said = (golden: readonly SeenFrame[], now: readonly SeenFrame[], tolerance: Tolerance = OTHER) =>
  compare(golden, now, tolerance).differences.map(describe);
const change = (frames: readonly SeenFrame[], to: (object: SeenObject, frame: number) => Partial<SeenObject>) =>
  frames.map((frame, index) => ({
    ...frame,
    objects: frame.objects.map((object) => ({ ...object, ...to(object, index + 1) })),
  }));

test("the same is the same, to the last digit", () => {
  const { differences, excused, renamed, frames, objects } = compare(GOLDEN, film(scene), EXACT);
  assert.deepEqual(
    { differences, excused, renamed, frames, objects },
    { differences: [], excused: 0, renamed: [], frames: 40, objects: 120 },
  );
});

test("a box that has moved is told with its frame, track and distance", () => {
  const now = film((frame) => scene(frame).map((object) => (frame >= 12 && object.id === 2 ? seen(2, 223) : object)));
  assert.deepEqual(said(GOLDEN, now).slice(0, 2), [
    "frame 12 (0.440 s): track 2 box is off by 23.0 px (IoU 0.27)",
    "frame 13 (0.480 s): track 2 box is off by 23.0 px (IoU 0.27)",
  ]);
  assert.equal(compare(GOLDEN, now).differences[0]?.amount, 23);
});

test("what a machine rounds otherwise is the same: a step of the box and of the confidence", () => {
  const now = film((frame) =>
    scene(frame).map(({ id, box }) => {
      const step = (frame + id) % 2 === 0 ? 1 : -1;
      return seen(id, box[0] + step, { confidence: 80 + step * 5 });
    }),
  );
  assert.deepEqual(said(GOLDEN, now), []);
  assert.equal(said(GOLDEN, now, SAME).length, 240);
  assert.equal(said(GOLDEN, now, EXACT).length, 240);
});

test("the same machine may round the last digit of what is written, and no more", () => {
  const off = (by: number) =>
    change(GOLDEN, ({ box: [x, ...rest] }) => ({ box: [x + by, ...rest], confidence: 80 + by }));
  assert.deepEqual(said(GOLDEN, off(0.01), SAME), []);
  assert.equal(said(GOLDEN, off(0.01), EXACT).length, 240);
  assert.equal(said(GOLDEN, off(0.5), SAME).length, 240);
});

const resized = (by: (box: SeenBox) => SeenBox) =>
  change(GOLDEN, ({ box }) => ({ box: by(box), scaledBox: scale(by(box)) }));
const shared: readonly (readonly [what: string, now: readonly SeenFrame[], told: readonly string[]])[] = [
  ["less confidence", change(GOLDEN, () => ({ confidence: 73.5 })), ["confidence -6.5 points"]],
  [
    "a move by 9 %",
    resized(([x, y, width, height]) => [x + 0.09 * width, y + 0.09 * height, width, height]),
    ["left edge +9.0 % of the box", "top edge +9.0 % of the box", "right edge +9.0 % of the box"],
  ],
  [
    "boxes a fifth wider",
    resized(([x, y, width, height]) => [x - 0.1 * width, y, 1.2 * width, height]),
    ["left edge -10.0 % of the box", "right edge +10.0 % of the box", "IoU 0.83"],
  ],
];
for (const [what, now, told] of shared)
  test(`a change that no object shows but all of them share is told: ${what}`, () => {
    const sentences = said(GOLDEN, now);
    for (const sentence of told)
      assert.ok(sentences.includes(`over 120 objects, on average: ${sentence}`), sentences.join("\n"));
    assert.deepEqual(new Set(compare(GOLDEN, now).differences.map(({ kind }) => kind)), new Set(["mean"]));
  });

test("tracking that is gone is told, and so is tracking that was not there", () => {
  const without = change(GOLDEN, () => ({ id: 0 }));
  for (const tolerance of [EXACT, SAME, OTHER]) {
    assert.equal(said(GOLDEN, without, tolerance)[0], "frame 1 (0.000 s): track 1 is not tracked from here on");
    assert.equal(said(GOLDEN, without, tolerance).length, 3);
    assert.equal(said(without, GOLDEN, tolerance)[0], "frame 1 (0.000 s): an object is tracked from here on, as 1");
  }
});

test("two pixels are nothing on a box of a few", () => {
  const tiny = (x: number) => film((frame) => [seen(1, 0, { box: [frame === 7 ? x : 20, 10, 6, 6] })]);
  assert.deepEqual(said(tiny(20), tiny(22)), []);
  assert.match(said(tiny(20), tiny(22.5))[0] ?? "", /off by 2\.5 px \(IoU 0\.41\)/);
});

test("a change of confidence says which way", () => {
  const now = film((frame) =>
    scene(frame).map((object) => (frame === 3 && object.id === 1 ? seen(1, 0, { confidence: 71.5 }) : object)),
  );
  assert.deepEqual(said(GOLDEN, now), ["frame 3 (0.080 s): track 1 confidence is -8.5 points"]);
});

test("another class is told, and so is anything else that is said of an object", () => {
  const now = film((frame) =>
    scene(frame).map((object) =>
      frame === 1 && object.id === 1 ? seen(1, 0, { className: "bus", others: { altitude: 3 } }) : object,
    ),
  );
  assert.deepEqual(said(GOLDEN, now), [
    "frame 1 (0.000 s): track 1 is a bus, was a car",
    "frame 1 (0.000 s): track 1 altitude is 3, was null",
  ]);
});

test("every field of the message is compared", () => {
  const first = (_: SeenObject, frame: number, part: Partial<SeenObject>) => (frame === 1 ? part : {});
  const others = change(GOLDEN, (object, frame) => first(object, frame, object.id === 1 ? { classId: 99 } : {}));
  const scaled = change(GOLDEN, (object, frame) =>
    first(object, frame, object.id === 1 ? { scaledBox: [0, 0, 0, 0] } : {}),
  );
  const topped = GOLDEN.map((frame, index) => (index === 0 ? { ...frame, others: { foo: 1 } } : frame));
  for (const tolerance of [EXACT, SAME, OTHER]) {
    assert.deepEqual(said(GOLDEN, others, tolerance), ["frame 1 (0.000 s): track 1 has the class_id 99, had 2"]);
    assert.match(
      said(GOLDEN, scaled, tolerance).join(),
      /^frame 1 \(0\.000 s\): track 1 scaled_bbox is \[0,0,0,0\], was/,
    );
    assert.deepEqual(said(GOLDEN, topped, tolerance), ["frame 1 (0.000 s): foo is 1, was null"]);
  }
});

test("an object near a threshold may be missing, one that is sure may not", () => {
  const withGuest = (confidence: number) =>
    film((frame) => [...scene(frame), frame === 20 ? seen(4, 500, { confidence }) : null]);
  assert.deepEqual(said(withGuest(43), GOLDEN), []);
  assert.deepEqual(said(GOLDEN, withGuest(36)), []);
  assert.equal(compare(withGuest(43), GOLDEN).excused, 1);
  assert.deepEqual(said(withGuest(60), GOLDEN), ["frame 20 (0.760 s): track 4 car is missing"]);
  assert.deepEqual(said(GOLDEN, withGuest(60)), ["frame 20 (0.760 s): track 4 car was not there before"]);
  assert.deepEqual(said(withGuest(43), GOLDEN, EXACT), ["frame 20 (0.760 s): track 4 car is missing"]);
});

test("a track may begin a few frames later or pause, but not stay away", () => {
  const without = (from: number, to: number) =>
    film((frame) => scene(frame).map((object) => (object.id === 3 && frame >= from && frame <= to ? null : object)));
  assert.deepEqual(said(GOLDEN, without(1, 4)), []);
  assert.deepEqual(said(GOLDEN, without(20, 23)), []);
  assert.equal(said(GOLDEN, without(1, 12)).length, 7, "those further than 5 frames from where it is seen");
  assert.deepEqual(said(GOLDEN, without(36, 40)), []);
});

test("what is excused again and again is no chance any more", () => {
  const late = film((frame) => (frame <= 4 ? [] : scene(frame)));
  const differences = said(GOLDEN, late);
  assert.equal(differences.length, 12);
  assert.equal(differences[0], "frame 1 (0.000 s): track 1 car is missing");
});

test("objects that appear together may swap ids", () => {
  const now = film((frame) => scene(frame).map((object) => ({ ...object, id: [0, 2, 1, 3][object.id] ?? 0 })));
  const { differences, renamed } = compare(GOLDEN, now);
  assert.deepEqual(differences, []);
  assert.deepEqual(renamed, [
    [1, 2],
    [2, 1],
  ]);
  assert.deepEqual(said(GOLDEN, now, EXACT), [
    "frame 1 (0.000 s): track 1 has the id 2 from its beginning on",
    "frame 1 (0.000 s): track 2 has the id 1 from its beginning on",
  ]);
});

test("an id that nothing explains is one difference, not one a frame", () => {
  const now = film((frame) => scene(frame).map((object) => (object.id === 3 ? { ...object, id: 9 } : object)));
  assert.deepEqual(said(GOLDEN, now), ["frame 1 (0.000 s): track 3 has the id 9 from its beginning on"]);
});

test("behind a track that one run alone has, ids are shifted and still the same", () => {
  const golden = film((frame) => [...scene(frame), frame > 20 ? seen(4, 500) : null]);
  const now = film((frame) => [
    ...scene(frame),
    frame === 5 ? seen(4, 700, { confidence: 41 }) : null,
    frame > 20 ? seen(5, 500) : null,
  ]);
  const { differences, renamed, excused } = compare(golden, now);
  assert.deepEqual({ differences, renamed, excused }, { differences: [], renamed: [[4, 5]], excused: 1 });
});

test("one stray object does not excuse other ids than the next", () => {
  const ghost = seen(1, 700, { confidence: 41 });
  const renamedWith = (to: (id: number) => number) =>
    film((frame) => [
      ...(frame === 1 ? [ghost] : []),
      ...scene(frame).map((object) => ({ ...object, id: to(object.id) })),
    ]);
  assert.deepEqual(
    said(
      GOLDEN,
      renamedWith((id) => id + 1),
    ),
    [],
  );
  for (const to of [(id: number) => 100 - id, (id: number) => id + 2])
    assert.equal(said(GOLDEN, renamedWith(to)).length, 3);
});

test("a shift keeps the order of tracks that begin apart", () => {
  const golden = film((frame) => [seen(1, 0), frame > 10 ? seen(2, 200) : null, frame > 30 ? seen(3, 400) : null]);
  const now = film((frame) => [
    frame === 1 ? seen(1, 700, { confidence: 41 }) : null,
    seen(2, 0),
    frame > 10 ? seen(4, 200) : null,
    frame > 30 ? seen(3, 400) : null,
  ]);
  assert.deepEqual(said(golden, now), ["frame 11 (0.400 s): track 2 has the id 4 from its beginning on"]);
});

test("an object that loses its id is told from the frame where it does", () => {
  const now = film((frame) =>
    scene(frame).map((object) => (object.id === 2 && frame >= 35 ? { ...object, id: 7 } : object)),
  );
  assert.deepEqual(said(GOLDEN, now), ["frame 35 (1.360 s): track 2 is 7 from here on, was 2"]);
  assert.deepEqual(said(now, GOLDEN), ["frame 35 (1.360 s): track 7 is 2 from here on, which was track 2"]);
});

test("a track that takes the place of another for a while is told where it comes and goes", () => {
  const golden = film((frame) => [seen(1, 0), frame > 10 && frame <= 20 ? seen(2, 200) : null]);
  const now = film((frame) => [frame > 10 && frame <= 20 ? seen(1, 200) : seen(1, 0)]);
  const told = said(golden, now).filter((line) => !/ missing$/.test(line));
  assert.deepEqual(told, [
    "frame 11 (0.400 s): track 2 is 1 from here on, which was track 1",
    "frame 21 (0.800 s): track 1 is 1 again, which was track 2 in between",
  ]);
});

test("two that swap ids where they meet are found by place, not taken for moved", () => {
  const cross = (swap: boolean) =>
    film((frame) => {
      const other = swap && frame > 25;
      return [
        seen(other ? 2 : 1, frame * 10),
        seen(other ? 1 : 2, 400 - frame * 6, { box: [400 - frame * 6, 150, 40, 80] }),
      ];
    });
  assert.deepEqual(said(cross(false), cross(true)), [
    "frame 26 (1.000 s): track 1 is 2 from here on, was 1",
    "frame 26 (1.000 s): track 2 is 1 from here on, was 2",
  ]);
});

test("a frame that only one run tells of is told, not its objects", () => {
  const now = GOLDEN.filter((_, index) => index !== 9);
  assert.deepEqual(said(GOLDEN, now), ["frame 10 (0.360 s): the message of this frame is not there any more"]);
  assert.deepEqual(said(now, GOLDEN), ["frame 10 (0.360 s): the message of this frame was not there before"]);
});

test("a second message with one time is told", () => {
  const twice = GOLDEN.flatMap((frame, index) => (index === 9 ? [frame, frame] : [frame]));
  for (const tolerance of [EXACT, SAME, OTHER]) {
    assert.deepEqual(said(GOLDEN, twice, tolerance), [
      "frame 11 (0.360 s): the message of this frame was not there before",
    ]);
    assert.deepEqual(said(twice, twice, tolerance), []);
  }
});

test("objects without ids are compared by their place", () => {
  const anonymous = (shift: number) =>
    film((frame) => scene(frame).map((object) => seen(0, object.box[0] + (frame === 7 ? shift : 0))));
  assert.deepEqual(said(anonymous(0), anonymous(1)), []);
  assert.deepEqual(said(anonymous(0), anonymous(12)).slice(0, 1), [
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

test("whatever was seen is the same as itself, in whatever order a frame tells of it", () =>
  fc.assert(
    fc.property(anyFrames, (frames) => {
      const turned = frames.map((frame) => ({ ...frame, objects: [...frame.objects].reverse() }));
      assert.deepEqual(compareFrames(frames, turned, EXACT, THRESHOLDS).differences, []);
    }),
  ));

test("any two runs are compared without an end to it, and nothing is counted twice", () =>
  fc.assert(
    fc.property(anyFrames, anyFrames, (golden, now) => {
      const { differences, excused, objects } = compare(golden, now);
      const alone = differences.filter(({ kind }) => kind === "missing" || kind === "extra").length + excused;
      assert.ok(alone <= 2 * objects);
    }),
  ));
