import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, start, windhover } from "../../../cli/windhover.fixture.ts";
import { withoutModel } from "../../../test/golden/golden.fixture.ts";
import { paintStreet } from "../../../test/golden/street.fixture.ts";

const skip = await withoutModel("default");
const folder = makeFolder();
paintStreet(join(folder, "street.y4m"), 8);
const TUNE = ["tune", "detect", "street.y4m", "model=default"];

test("lists the front, marks what is above the floor, and names the parameters to use", { skip }, async () => {
  const words = [...TUNE, "--try", "every=3", "--frames", "4", "--floor", "agreement=0.01"];
  const { code, stdout, stderr } = await windhover(words, folder);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^run 1 of up to 20: every=auto: [\d.]+ frames\/s, agreement 100\.0 %$/m);
  assert.match(stdout, /^setting +frames\/s +agreement +above the floor\n/);
  assert.match(stdout, /^every=(auto|3) +[\d.]+ +[\d.]+ % +✓ +use this/m);
  assert.match(stdout, /^2 settings measured, [12] on the front; no other is expected to be better$/m);
  assert.match(stdout, /^use: windhover run detect street\.y4m model=default( every=3)?$/m);
});

test("scores against ground truth, and fails when no setting is above the floor", { skip }, async () => {
  const truth = Array.from({ length: 8 }, (_, index) => `${index + 1},1,484,54,72,72,1\n`).join("");
  writeFileSync(join(folder, "gt.txt"), truth);
  const words = [...TUNE, "--try", "threads=2", "--frames", "5", "--truth", "gt.txt", "--class", "stop sign", "--json"];
  const { code, stdout, stderr } = await windhover([...words, "--floor", "fps=100000"], folder);
  assert.equal(code, 1, stderr);
  const { settings, use, measure, reference } = JSON.parse(stdout);
  assert.deepEqual([settings.length, use, measure, reference], [2, null, "hota", null]);
  for (const { hota, ap, isAboveFloor } of settings) assert.ok(hota > 60 && ap > 60 && !isAboveFloor, stdout);
});

test("Ctrl-C prints what is known so far", { skip }, async () => {
  const run = start([...TUNE, "--try", "every=2,3,4,5", "--json"], folder);
  await run.until(({ stderr }) => stderr.includes('"type":"run"'));
  run.child.kill("SIGINT");
  const { code, stdout, stderr } = await run.done;
  assert.equal(code, 0, stderr);
  const { settings, end, use } = JSON.parse(stdout);
  assert.equal(end, "interrupted");
  assert.ok(settings.length >= 1 && settings.length < 5);
  assert.deepEqual(Object.keys(use), ["setting", "params", "set"]);
});

test("the number of runs and the time are limited", { skip }, async () => {
  const words = [...TUNE, "--try", "every=2,3,4,5", "--frames", "3", "--json"];
  const [few, short] = await Promise.all([
    windhover([...words, "--runs", "2"], folder),
    windhover([...words, "--budget", "0.001s"], folder),
  ]);
  const ends = [few, short].map(({ stdout }) => JSON.parse(stdout)).map(({ end, settings }) => [end, settings.length]);
  assert.deepEqual(ends, [
    ["the limit of 2 runs is reached (--runs)", 2],
    ["the time is over (--budget)", 1],
  ]);
});
