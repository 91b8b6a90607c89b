import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { Picture, PixelBox } from "./dataset.ts";
import { drawPrecisions, formatScores, toJson } from "./report.ts";
import { type CocoScores, type Found, scoreCoco } from "./score.ts";

type Spot = readonly [at: number, size?: number];

/** Boxes far from one another, squares of 10 by default. */
const boxAt = ([at, size = 10]: Spot): PixelBox => [at * 200, 0, size, size];

function picture(truth: Readonly<Record<string, readonly Spot[]>>): Picture {
  const objects = Object.entries(truth).flatMap(([className, spots]) =>
    spots.map((spot) => {
      const box = boxAt(spot);
      return { className, box, area: box[2] * box[3], isCrowd: false };
    }),
  );
  return { file: "a.jpg", width: 10_000, height: 200, truth: objects };
}

const find = (found: Readonly<Record<string, readonly (readonly [spot: Spot, score: number])[]>>): Found =>
  new Map(
    Object.entries(found).map(([name, list]) => [name, list.map(([spot, score]) => ({ box: boxAt(spot), score }))]),
  );

function score(pictures: readonly Picture[], found: readonly Found[], classes: readonly string[]): CocoScores {
  const scores = scoreCoco(pictures, found, classes);
  assert.ok(scores !== null);
  return scores;
}

const near = (value: number | null, expected: number) =>
  assert.ok(value !== null && Math.abs(value - expected) < 1e-9, `${value} is not ${expected}`);

test("everything found and nothing else is 1", () => {
  const scores = score(
    [picture({ cat: [[0], [1]] })],
    [
      find({
        cat: [
          [[0], 0.9],
          [[1], 0.2],
        ],
      }),
    ],
    ["cat"],
  );
  for (const value of [scores.ap, scores.ap50, scores.ap75, scores.ar, scores.small]) near(value, 1);
  assert.equal(scores.medium, null);
});

test("half of the objects found without a mistake covers the recalls 0 to 0.5", () => {
  const scores = score([picture({ cat: [[0], [1]] })], [find({ cat: [[[0], 0.9]] })], ["cat"]);
  near(scores.ap, 51 / 101);
  near(scores.ar, 0.5);
});

test("a mistake costs only what comes after it", () => {
  // Right, wrong, right: precision 1 up to recall 0.5, then 2 of 3.
  const found = find({
    cat: [
      [[0], 0.9],
      [[7], 0.8],
      [[1], 0.7],
    ],
  });
  near(score([picture({ cat: [[0], [1]] })], [found], ["cat"]).ap, (51 + 50 * (2 / 3)) / 101);
});

test("precision is the best at a recall or beyond", () => {
  // Wrong, right, right: 1/2 at recall 0.5, but 2/3 at recall 1.
  const found = find({
    cat: [
      [[7], 0.9],
      [[0], 0.8],
      [[1], 0.7],
    ],
  });
  near(score([picture({ cat: [[0], [1]] })], [found], ["cat"]).ap, 2 / 3);
});

test("detections of all pictures are ranked together", () => {
  const pictures = [picture({ cat: [[0]] }), picture({ cat: [[0]] })];
  const found = [
    find({
      cat: [
        [[7], 0.5],
        [[0], 0.4],
      ],
    }),
    find({ cat: [[[0], 0.9]] }),
  ];
  near(score(pictures, found, ["cat"]).ap, (51 + 50 * (2 / 3)) / 101);
});

test("an overlap of 0.64 is right up to 0.60: three overlaps of ten", () => {
  // 8×8 within 10×10.
  const scores = score([picture({ cat: [[0]] })], [find({ cat: [[[0, 8], 0.9]] })], ["cat"]);
  near(scores.ap, 0.3);
  near(scores.ap50, 1);
  near(scores.ap75, 0);
});

test("classes weigh the same, however many objects they have; those without objects weigh nothing", () => {
  const truth = picture({ cat: [[0], [1], [2]], dog: [[3]] });
  const found = find({
    cat: [
      [[0], 0.9],
      [[1], 0.9],
      [[2], 0.9],
    ],
    cow: [[[5], 0.9]],
  });
  const scores = score([truth], [found], ["cat", "dog", "cow"]);
  near(scores.ap, 0.5);
  assert.deepEqual(
    scores.classes.map(({ name, ap, objects }) => [name, ap, objects]),
    [
      ["cat", 1, 3],
      ["dog", 0, 1],
    ],
  );
});

test("small, medium and large are scored apart", () => {
  const truth = picture({
    cat: [
      [0, 20],
      [1, 50],
      [2, 150],
    ],
  });
  const found = find({
    cat: [
      [[0, 20], 0.9],
      [[2, 150], 0.8],
    ],
  });
  const scores = score([truth], [found], ["cat"]);
  near(scores.small, 1);
  near(scores.medium, 0);
  near(scores.large, 1);
});

test("pictures without objects of the classes have no score", () => {
  assert.equal(scoreCoco([picture({ cat: [[0]] })], [find({})], ["dog"]), null);
});

test("another detection that is wrong and least sure changes nothing, one that is surest never helps", () => {
  const spots = fc.uniqueArray(fc.nat(8), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(spots, spots, (truth, found) => {
      const list = found.map((at, i) => [[at], 0.2 + i / 20] as const);
      const apOf = (extra: readonly (readonly [Spot, number])[]) =>
        score([picture({ cat: truth.map((at): Spot => [at]) })], [find({ cat: [...list, ...extra] })], ["cat"]).ap;
      assert.equal(apOf([[[20], 0.1]]), apOf([]));
      assert.ok(apOf([[[20], 0.99]]) <= apOf([]));
    }),
  );
});

const SCORES = score(
  [picture({ "a <b> & c": [[0], [1]], dog: [[3]] })],
  [find({ "a <b> & c": [[[0], 0.9]], dog: [[[3], 0.5]] })],
  ["a <b> & c", "dog"],
);

test("reports name scores as they are published, in percent", () => {
  const json = toJson(SCORES);
  assert.equal(json.AP50, Math.round(((51 / 101 + 1) / 2) * 1e6) / 1e4);
  assert.equal(json.APlarge, null);
  const [head, row] = formatScores("m", SCORES, (_, text) => text).split("\n");
  assert.match(head ?? "", /AP +AP50 +AP75 +AP small +medium +large +AR/);
  assert.match(row ?? "", /^m +75\.2 +75\.2 +75\.2 +75\.2 +– +– +75\.0$/);
});

test("the plot has a panel for the mean and one for each class, and names are text", () => {
  const svg = drawPrecisions("model", SCORES);
  assert.equal(svg.match(/<polyline/g)?.length, 9);
  assert.match(svg, /a &lt;b&gt; &amp; c \(2\): 50\.5/);
  assert.ok(!svg.includes("NaN"));
});

test("a curve ends where it falls to zero", () => {
  const lengths = [...drawPrecisions("model", SCORES).matchAll(/<polyline points="([^"]*)"/g)].map(
    ([, points]) => points?.split(" ").length,
  );
  // One of two found: 51 recalls are reached, and one point more is on the floor.
  assert.deepEqual(lengths, [101, 101, 101, 52, 52, 52, 101, 101, 101]);
});
