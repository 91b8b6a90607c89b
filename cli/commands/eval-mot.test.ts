import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeSequence, mot15, rows } from "../eval/mot/mot.fixture.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";

const folder = makeFolder();
const sequences = join(folder, "sequences");
makeSequence(sequences, "one");
makeSequence(sequences, "two", { gt: rows(1) + rows(2).replaceAll(",20,", ",220,") });

test("tracks, scores, writes results and a plot, and scores the results alike", async () => {
  const [out, plot] = [join(folder, "out"), join(folder, "plot.svg")];
  const tracked = await windhover([
    ..."eval mot --detections det.txt --tracker sort --json --out".split(" "),
    out,
    "--plot",
    plot,
    sequences,
  ]);
  assert.equal(tracked.code, 0, tracked.stderr);
  const { tracker, combined, sequences: each } = JSON.parse(tracked.stdout);
  assert.equal(tracker, "sort");
  assert.deepEqual(
    each.map(({ name }: { name: string }) => name),
    ["one", "two"],
  );
  assert.equal(combined.frames, 8);
  assert.ok(combined.framesPerSecond > 0);
  assert.deepEqual(readdirSync(out).sort(), ["one.txt", "two.txt"]);
  assert.match(readFileSync(join(out, "one.txt"), "utf8"), /^(\d+,\d+(,-?[\d.]+){5},-1,-1,-1\n)+$/);
  assert.match(readFileSync(plot, "utf8"), /^<svg /);

  const scored = await windhover(["eval", "mot", sequences, "--results", out, "--json"]);
  assert.equal(scored.code, 0, scored.stderr);
  const { framesPerSecond: _, ...others } = combined;
  assert.deepEqual(JSON.parse(scored.stdout).combined, others);
});

test("perfect results have perfect scores, in a table with a line for each sequence", async () => {
  const made = join(folder, "perfect");
  mkdirSync(made);
  writeFileSync(join(made, "one.txt"), rows(5));
  writeFileSync(join(made, "two.txt"), rows(5));
  const { code, lines, stderr } = await windhover(["eval", "mot", sequences, "--results", made]);
  assert.equal(code, 0, stderr);
  assert.match(lines[0] ?? "", /HOTA +DetA +AssA +LocA +MOTA +IDF1 +IDSW/);
  assert.match(lines[1] ?? "", /^one +100\.0 +100\.0 +100\.0 +100\.0 +100\.0 +100\.0 +0 /);
  assert.match(lines[2] ?? "", /^two +70\.7 +50\.0 +100\.0 +100\.0 +50\.0 +66\.7 +0 /);
  assert.match(lines[3] ?? "", /^combined /);
});

const REFUSED: readonly (readonly [what: string, args: readonly string[], code: number, fault: RegExp])[] = [
  ["no DIR", ["--detections", "det.txt"], 2, /missing: one DIR/],
  ["nothing to score", [sequences], 2, /expected --detections FILE to track, or --results FOLDER/],
  ["an unknown tracker", [sequences, "--detections", "det.txt", "--tracker", "bytes"], 2, /did you mean "byte"\?/],
  [
    "a tracker for results",
    [sequences, "--results", folder, "--tracker", "byte"],
    2,
    /--tracker goes with --detections/,
  ],
  ["a DIR that is not there", [join(folder, "none"), "--detections", "det.txt"], 1, /there is no folder .*none/],
  ["a DIR without sequences", [folder, "--detections", "det.txt"], 1, /has no sequences: expected a folder for each/],
  [
    "a sequence for a DIR",
    [join(sequences, "one"), "--detections", "det.txt"],
    1,
    /is a sequence itself: give the folder above/,
  ],
  [
    "detections that are not there",
    [sequences, "--detections", "dat.txt"],
    1,
    /there is no file .*one\/dat\.txt\n.*two\/dat\.txt/,
  ],
  ["results that are not there", [sequences, "--results", folder], 1, /there is no file .*one\.txt/],
];

for (const [what, args, code, fault] of REFUSED)
  test(`${what}: a sentence and exit code ${code}`, async () => {
    const outcome = await windhover(["eval", "mot", ...args]);
    assert.equal(outcome.code, code, outcome.stderr);
    assert.match(outcome.stderr, fault);
    assert.ok(!/\n +at /.test(outcome.stderr), outcome.stderr);
    assert.equal(outcome.stdout, "");
  });

test("a bad row leaves no results behind", async () => {
  const bad = join(folder, "bad");
  makeSequence(bad, "first");
  makeSequence(bad, "one", { det: "1,-1,1,1,5,-5,1\n" });
  const out = join(folder, "bad-out");
  const outcome = await windhover(["eval", "mot", bad, "--detections", "det.txt", "--out", out]);
  assert.equal(outcome.code, 1);
  assert.match(outcome.stderr, /det\.txt:1: the box is 5×-5/);
  assert.ok(!existsSync(out));
});

// What the authors' own code reaches on these detections, scored by TrackEval without preprocessing.
const PUBLISHED: readonly (readonly [tracker: string, scores: readonly number[]])[] = [
  ["sort", [42.1, 36.5, 62.5, 52.3, 150]],
  ["byte", [46.3, 42.3, 62.0, 60.8, 120]],
];

for (const [tracker, expected] of PUBLISHED)
  test(`${tracker} has the published scores on MOT15`, { skip: mot15.skip }, async () => {
    const args = ["--detections", "det_sort_frcnn.txt", "--tracker", tracker, "--json"];
    const { stdout, stderr } = await windhover(["eval", "mot", mot15.folder, ...args]);
    assert.equal(stderr, "");
    const { HOTA, AssA, MOTA, IDF1, IDSW } = JSON.parse(stdout).combined;
    assert.deepEqual(
      [HOTA, AssA, MOTA, IDF1, IDSW].map((score) => Number(score.toFixed(1))),
      expected,
    );
  });
