import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, windhover } from "../../cli/windhover.fixture.ts";
import { withoutModel } from "../../test/golden/golden.fixture.ts";
import { paintStreet, STREET } from "../../test/golden/street.fixture.ts";

const skip = await withoutModel("default");
const folder = makeFolder();
const FRAMES = 6;
paintStreet(join(folder, "street.y4m"), FRAMES);
/** The stop sign of the painted street, which never moves. */
const truth = Array.from({ length: FRAMES }, (_, index) => `${index + 1},1,484,54,72,72,1,-1,-1,-1\n`).join("");
writeFileSync(join(folder, "gt.txt"), truth);

const PAIR = ["compare", "detect", "detect", "street.y4m", "--rounds", "1"];

test("compares a graph with itself, on ground truth, and draws both side by side", { skip }, async () => {
  const options = ["--truth", "gt.txt", "--class", "stop sign", "--video", "both.mp4", "--json"];
  const floors = ["--fail-under", "agreement=1,recall=1,ap=0.6,hota=0.6"];
  const { code, stdout, stderr } = await windhover([...PAIR, ...options, ...floors], folder);
  assert.equal(code, 0, stderr);
  const { a, b, speed, agreement } = JSON.parse(stdout);
  assert.deepEqual([a.frames, b.frames, a.rounds.length], [FRAMES, FRAMES, 1]);
  assert.deepEqual([agreement.agreement, agreement.IDSW, agreement.HOTA], [100, 0, 100]);
  for (const { tracks } of agreement.classes) assert.deepEqual(tracks.matched, tracks.reference);
  assert.deepEqual(a.truth, b.truth);
  assert.ok(a.truth.AP50 > 60 && a.truth.HOTA > 60 && a.framesPerSecond > 0 && speed > 0, stdout);
  assert.match(stderr, /written: both\.mp4/);
  const { lines } = await windhover(["run", "demo", "both.mp4", "-q"], folder);
  const { width, height } = JSON.parse(lines[0] ?? "{}");
  assert.deepEqual([lines.length, width, height], [FRAMES, 2 * STREET.width, STREET.height]);
});

test("prints a table, and fails below a limit", { skip }, async () => {
  const { code, stdout, stderr } = await windhover(
    [
      ...PAIR,
      "classes=stop sign",
      "b.classes=clock",
      "--frames",
      "4",
      "--fail-under",
      "agreement=0.95",
      "--truth",
      "gt.txt",
    ],
    folder,
  );
  assert.equal(code, 1, stdout);
  assert.match(stderr, /^agreement is 0, below 0\.95$/m);
  assert.match(stderr, /^neither graph has an object of the class "person"; --class selects another$/m);
  assert.match(stdout, /^A {2}detect classes=stop sign\nB {2}detect classes=clock$/m);
  assert.match(
    stdout,
    /^ +A +B +B to A\nframes +4 +4\nframes\/s +[\d.]+ +[\d.]+ +[\d.]+×\ntracks +\d+ +\d+ +0 matched$/m,
  );
  assert.match(stdout, /^ {2}stop sign +\d +0 +0 matched\nrecall +0\.0 %$/m);
});

test("rejects what cannot be compared before it runs anything", async () => {
  for (const [words, message] of [
    [["compare", "demo", "demo", "street.y4m"], /the graph "demo" detects no objects/],
    [[...PAIR, "--fail-under", "agreement=95"], /expected a number above 0 and up to 1/],
    [[...PAIR, "b.modl=x"], /modl=x: .*did you mean "model"/],
    [[...PAIR, "--rounds", "1000"], /--rounds is 1000; expected up to 100/],
  ] as const) {
    const { code, stdout, stderr } = await windhover(words, folder);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: "" }, stderr);
    assert.match(stderr, message);
  }
});
