import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { detection, track } from "../marks.fixture.ts";
import { chooseSizes, colourOf, contrast, inkOn, LabelRoom, measure, type Rectangle, writeLabels } from "./label.ts";

const ALL = ["class", "id", "confidence"] as const;
const BOX: [number, number, number, number] = [0, 0, 0.1, 0.1];

for (const [behaviour, labels, expected] of [
  ["all that is asked for, then the id alone", writeLabels(track(7, BOX), ALL), ["person #7 87%", "#7"]],
  ["in the order asked for", writeLabels(track(7, BOX), ["confidence", "class"]), ["87% person", "87%"]],
  ["no id where there is none", writeLabels(detection(BOX), ALL), ["person 87%", "person"]],
  ["once where it cannot be cut down", writeLabels(track(7, BOX), ["id"]), ["#7"]],
  ["nothing where nothing is asked for", writeLabels(track(7, BOX), []), []],
  ["nothing without a name", writeLabels(detection(BOX, { className: "" }), ["class"]), []],
  ["a class without a name", writeLabels(track(7, BOX, { className: "" }), ALL), ["#7 87%", "#7"]],
  [
    "a long name cut by letters, not by code units",
    writeLabels(detection(BOX, { className: "🚗".repeat(30) }), ["class"]),
    [`${"🚗".repeat(23)}…`],
  ],
] as const)
  test(`a label shows ${behaviour}`, () => assert.deepEqual(labels, expected));

test("East Asian letters take two cells, combining marks none", () => {
  const sizes = chooseSizes({ width: 1920, height: 1080 });
  const cells = (text: string) => (measure(text, sizes) - 2 * sizes.margin) / sizes.letter;
  assert.deepEqual(["abc", "行人", "личность", "e\u0301", "カー", ""].map(cells), [3, 4, 8, 1, 4, 0]);
});

const overlap = (a: Rectangle, b: Rectangle) =>
  a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height;

test("labels stay inside the frame and never overlap", () => {
  const side = fc.integer({ min: 1, max: 400 });
  const box = fc.record({
    x: fc.integer({ min: 0, max: 640 }),
    y: fc.integer({ min: 0, max: 360 }),
    width: side,
    height: side,
  });
  fc.assert(
    fc.property(fc.array(fc.tuple(box, side, fc.nat(9)), { maxLength: 60 }), (wanted) => {
      const room = new LabelRoom({ width: 640, height: 360 });
      const taken = wanted.flatMap(([at, width, favourite]) => room.take(at, width, 14, favourite) ?? []);
      for (const [i, one] of taken.entries()) {
        assert.ok(one.x >= 0 && one.y >= 0 && one.x + one.width <= 640 && one.y + one.height <= 360);
        assert.ok(taken.slice(i + 1).every((other) => !overlap(one, other)));
      }
    }),
  );
});

test("a label is placed above its box, else below, and keeps its position", () => {
  const place = (y: number, favourite?: number) =>
    new LabelRoom({ width: 640, height: 360 }).take({ x: 100, y, width: 50, height: 60 }, 80, 14, favourite);
  assert.deepEqual(place(100), { x: 100, y: 86, width: 80, height: 14, place: 0 });
  const below = place(4);
  assert.deepEqual(below, { x: 100, y: 64, width: 80, height: 14, place: 1 });
  assert.equal(place(100, below?.place)?.y, 160);
});

test("a label without room is not placed", () => {
  assert.equal(new LabelRoom({ width: 8, height: 8 }).take({ x: 0, y: 0, width: 8, height: 8 }, 20, 14), null);
});

const IDS = Array.from({ length: 100 }, (_, id) => id);

test("text is readable on the colour of every class", () => {
  for (const id of IDS) {
    const colour = colourOf(id);
    assert.ok(colour >= 0 && colour <= 0xffffff && Number.isInteger(colour));
    assert.ok(contrast(colour, inkOn(colour)) >= 4.5, `class ${id}`);
  }
});

test("the first fourteen classes differ, and a class keeps its colour", () => {
  assert.equal(new Set(IDS.slice(0, 14).map(colourOf)).size, 14);
  assert.deepEqual(IDS.map(colourOf), IDS.map(colourOf));
});

test("contrast ranges from 1 to that of black on white", () => {
  assert.equal(contrast(0x123456, 0x123456), 1);
  assert.equal(contrast(0x000000, 0xffffff), 21);
});
