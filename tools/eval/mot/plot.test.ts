import assert from "node:assert/strict";
import { test } from "node:test";
import { COLOURS } from "../../../cli/svg.ts";
import { sequence, square } from "../metrics/compare.fixture.ts";
import { scoreMot } from "../metrics/score-mot.ts";
import { colourTracks, drawScores, findRuns, listTicks } from "./plot.ts";

const broken = sequence(
  [[7], [7], [], [8], []].map((ids) => [{ 1: square() }, Object.fromEntries(ids.map((id) => [id, square()]))]),
  "a <b> & c",
);

test("finds which track matched an object in which frames", () => {
  const { sequences } = scoreMot([broken]);
  assert.deepEqual(
    sequences.map((scores) => findRuns(scores)),
    [
      [
        [
          { track: 0, first: 0, last: 1 },
          { track: -1, first: 2, last: 2 },
          { track: 1, first: 3, last: 3 },
          { track: -1, first: 4, last: 4 },
        ],
      ],
    ],
  );
});

test("tracks that follow one another on an object differ in colour", () => {
  const runs = [[0, 3, 6, 0].map((track, index) => ({ track, first: index, last: index }))];
  const colours = colourTracks(runs, 7, 3);
  assert.notEqual(colours[0], colours[3]);
  assert.notEqual(colours[3], colours[6]);
  assert.notEqual(colours[6], colours[0]);
});

test("the picture has a curve for each score, a bar for each run and a mark for the switch", () => {
  const { sequences, combined } = scoreMot([broken]);
  const svg = drawScores(sequences, combined);
  assert.equal(svg.match(/<polyline/g)?.length, 3);
  assert.equal(svg.match(/<title>object 1 as track/g)?.length, 2);
  assert.equal(svg.match(/<title>object 1 not found, frame 3</g)?.length, 1);
  assert.match(svg, /a &lt;b&gt; &amp; c: 1 object, 1 id switch/);
  assert.ok(!svg.includes("NaN"));
  assert.ok(COLOURS.some((colour) => svg.includes(colour)));
});

test("few panels share the whole width", () => {
  const widest = (count: number): number => {
    const { sequences, combined } = scoreMot(Array.from({ length: count }, () => broken));
    const curve = /<polyline points="([^"]*)"/.exec(drawScores(sequences, combined))?.[1] ?? "";
    return Number(curve.split(" ").at(-1)?.split(",")[0]);
  };
  assert.ok(widest(1) > 900, "one");
  // With a panel for both together, and one each.
  assert.ok(widest(2) < 333, "two");
});

for (const [frames, ticks] of [
  [1, [1]],
  [5, [1, 2, 3, 4, 5]],
  [71, [1, 10, 20, 30, 40, 50, 60, 70]],
  [179, [1, 20, 40, 60, 80, 100, 120, 140, 160]],
  [1200, [1, 100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1100, 1200]],
] as const)
  test(`${frames} frames are marked at round numbers`, () => assert.deepEqual(listTicks(frames), ticks));

test("a picture of nothing is a picture", () => {
  const { sequences, combined } = scoreMot([sequence([[{}, {}]])]);
  assert.ok(!drawScores(sequences, combined).includes("NaN"));
});
