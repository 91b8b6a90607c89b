import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { readArguments } from "../../cli/command.ts";
import { mot as command } from "../../cli/commands/eval.ts";
import { stalledTerminal } from "../../cli/terminal.fixture.ts";
import { makeFolder, windhover } from "../../cli/windhover.fixture.ts";
import { makeSequence, mot15, rows } from "./mot/mot.fixture.ts";

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

const unscored = join(folder, "unscored");
makeSequence(unscored, "one");
makeSequence(unscored, "two", { gt: "" });

const TRACK = ["--detections", "det.txt"];
const [USAGE, FAILURE] = ["UsageFault", "CommandFailure"];
const REFUSED: readonly (readonly [what: string, args: readonly string[], kind: string, fault: RegExp])[] = [
  ["no DIR", TRACK, USAGE, /missing: one DIR/],
  ["nothing to score", [sequences], USAGE, /expected --detections FILE to track, or --results FOLDER/],
  ["an unknown tracker", [sequences, ...TRACK, "--tracker", "bytes"], USAGE, /did you mean "byte"\?/],
  ["a tracker for results", [sequences, "--results", folder, "--tracker", "byte"], USAGE, /--tracker needs --detect/],
  ["a DIR that is not there", [join(folder, "none"), ...TRACK], FAILURE, /there is no folder .*none/],
  ["a DIR without sequences", [folder, ...TRACK], FAILURE, /has no sequences: expected a folder for each/],
  ["a sequence for a DIR", [join(sequences, "one"), ...TRACK], FAILURE, /is a sequence itself: give its parent folder/],
  ["no detections", [sequences, "--detections", "dat.txt"], FAILURE, /no file .*one\/dat\.txt\n.*two\/dat\.txt/],
  ["no results", [sequences, "--results", folder], FAILURE, /there is no file .*one\.txt/],
  ["a sequence with nothing to score", [unscored, ...TRACK], FAILURE, /two\/gt\.txt has nothing to score/],
  ["a folder for a plot", [sequences, ...TRACK, "--plot", folder], FAILURE, /this is a folder/],
];

for (const [what, args, kind, fault] of REFUSED)
  test(`${what}: rejected with an explanation`, async () => {
    const { terminal } = stalledTerminal();
    await assert.rejects(
      async () => command.run(readArguments(command, args), terminal),
      (error: Error) => {
        assert.equal(error.name, kind, error.stack);
        assert.match(error.message, fault);
        return true;
      },
    );
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
  ["ocsort", [43.6, 39.9, 58.8, 59.2, 106]],
];

for (const [tracker, expected] of PUBLISHED)
  test(`${tracker} has the published scores on MOT15`, { skip: mot15.skip }, async () => {
    const args = ["--detections", "det_sort_frcnn.txt", "--tracker", tracker, "--json"];
    const { stdout, stderr } = await windhover(["eval", "mot", mot15.folder, ...args]);
    // On a slow machine it reports its progress.
    assert.deepEqual(
      stderr.split("\n").filter((line) => line !== "" && !line.includes('"type":"progress"')),
      [],
    );
    const { HOTA, AssA, MOTA, IDF1, IDSW } = JSON.parse(stdout).combined;
    assert.deepEqual(
      [HOTA, AssA, MOTA, IDF1, IDSW].map((score) => Number(score.toFixed(1))),
      expected,
    );
  });
