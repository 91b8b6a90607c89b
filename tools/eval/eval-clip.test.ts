import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { readArguments } from "../../cli/command.ts";
import { clip as command } from "../../cli/commands/eval.ts";
import { stalledTerminal } from "../../cli/terminal.fixture.ts";
import { makeFolder, windhover } from "../../cli/windhover.fixture.ts";
import { withoutModel } from "../../test/golden/golden.fixture.ts";
import { paintStreet } from "../../test/golden/street.fixture.ts";

const folder = makeFolder();
const clip = join(folder, "street.y4m");
const FRAMES = 8;
paintStreet(clip, FRAMES);

/** The stop sign of the painted street, which never moves. */
const truth = (frames: number, confidence = 1): string =>
  Array.from({ length: frames }, (_, index) => `${index + 1},1,484,54,72,72,${confidence},-1,-1,-1\n`).join("");
const write = (name: string, text: string): string => {
  const file = join(folder, name);
  writeFileSync(file, text);
  return file;
};
const gt = write("gt.txt", truth(FRAMES));
const bad = write("bad.txt", "1,1,484,54,72,NaN,1\n");

const noModel = await withoutModel("default");

test("scores what the graph finds on a clip", { skip: noModel }, async () => {
  const plot = join(folder, "plot.svg");
  const args = ["eval", "clip", clip, "--gt", gt, "--class", "stop sign", "--json", "--plot", plot];
  const { code, stdout, stderr } = await windhover(args);
  assert.equal(code, 0, stderr);
  const { model, AP50, HOTA, MOTA, IDF1, IDSW, frames, framesPerSecond } = JSON.parse(stdout);
  assert.deepEqual([model, frames, IDSW], ["default", FRAMES, 0]);
  for (const score of [AP50, HOTA, MOTA, IDF1]) assert.ok(score > 60 && score <= 100, stdout);
  assert.ok(framesPerSecond > 0);
  assert.match(readFileSync(plot, "utf8"), /street: 1 object, 0 id switches/);
});

test("reports frames beyond the ground truth, and scores them only with --whole", { skip: noModel }, async () => {
  const half = write("half.txt", truth(FRAMES / 2));
  const args = ["eval", "clip", clip, "--gt", half, "--class", "stop sign", "--json"];
  const cut = await windhover(args);
  assert.equal(cut.code, 0, cut.stderr);
  assert.match(
    cut.stderr,
    /the ground truth has 4 frames, the clip 8: the rest is not scored; use --whole to score it/,
  );
  const { frames, FP } = JSON.parse(cut.stdout);
  assert.deepEqual([frames, FP], [FRAMES / 2, 0]);

  const whole = await windhover([...args, "--whole"]);
  assert.match(whole.stderr, /the ground truth has 4 frames, the clip 8: detections beyond it are false positives/);
  const beyond = JSON.parse(whole.stdout);
  assert.deepEqual([beyond.frames, beyond.FP], [FRAMES, FRAMES / 2]);
});

test("compares how often inference runs, by the tracks of all frames", { skip: noModel }, async () => {
  const args = ["eval", "clip", clip, "--gt", gt, "--class", "stop sign", "--every"];
  const { code, stdout, stderr } = await windhover([...args, "4,motion", "--json"]);
  assert.equal(code, 0, stderr);
  const { runs } = JSON.parse(stdout);
  assert.deepEqual(
    runs.map(({ every }: { every: unknown }) => every),
    [4, "motion"],
  );
  const [fourth, motion] = runs;
  assert.equal(fourth.inferred, 25);
  assert.ok(motion.inferred < 100, stdout);
  for (const { recall, AP50, HOTA } of runs)
    for (const score of [recall, AP50, HOTA]) assert.ok(score > 60 && score <= 100, stdout);
  assert.match(
    (await windhover([...args, "8"])).stdout,
    /every +decode +tiles +decoded +inferred +inferences +recall +AP50 +HOTA/,
  );
});

test("compares tiles: those that move are inferred, and the whole frame", { skip: noModel }, async () => {
  const args = [
    "eval",
    "clip",
    clip,
    "--gt",
    gt,
    "--class",
    "stop sign",
    "--every",
    "motion",
    "--tiles",
    "none,2x1,motion",
  ];
  const { code, stdout, stderr } = await windhover([...args, "--json"]);
  assert.equal(code, 0, stderr);
  const { runs } = JSON.parse(stdout);
  assert.deepEqual(
    runs.map(({ tiles }: { tiles: unknown }) => tiles),
    ["none", "2x1", "motion"],
  );
  const [none, all, moving] = runs;
  const perFrame = ({ inferences, inferred }: { inferences: number; inferred: number }) =>
    (inferences / inferred) * 100;
  assert.ok(Math.abs(perFrame(none) - 1) < 0.05 && Math.abs(perFrame(all) - 3) < 0.1, stdout);
  assert.ok(perFrame(moving) < 3, stdout);
});

test("compares what is decoded: frames that are not have the tracks of the frame before", {
  skip: noModel,
}, async () => {
  const coded = join(folder, "street.mp4");
  const encoder = ["x264enc", "key-int-max=4", "option-string=bframes=1:b-adapt=0:b-pyramid=0:scenecut=0"];
  await promisify(execFile)("gst-launch-1.0", [
    ...["filesrc", `location=${clip}`, "!", "y4mdec", "!", "videoconvert", "!", ...encoder, "!", "h264parse", "!"],
    ...["mp4mux", "!", "filesink", `location=${coded}`],
  ]);
  const args = ["eval", "clip", coded, "--gt", gt, "--class", "stop sign", "--decode", "all,reference", "--json"];
  const { code, stdout, stderr } = await windhover(args);
  assert.equal(code, 0, stderr);
  const [all, reference] = JSON.parse(stdout).runs;
  assert.deepEqual([all.every, all.decode, all.decoded, all.inferred], [1, "all", 100, 100]);
  assert.equal(reference.decode, "reference");
  assert.ok(reference.decoded < 80 && reference.inferred === reference.decoded, stdout);
  assert.ok(Math.abs(reference.recall - all.recall) <= 10 && all.cpuMs > 0, stdout);
});

const REFUSED: readonly (readonly [what: string, args: readonly string[], kind: string, fault: RegExp])[] = [
  ["no CLIP", ["--gt", gt], "UsageFault", /missing: one CLIP/],
  ["no ground truth", [clip], "UsageFault", /missing: --gt FILE/],
  ["a clip that is not there", [`${clip}x`, "--gt", gt], "CommandFailure", /there is no file .*; did you mean "street/],
  ["ground truth that is not there", [clip, "--gt", `${gt}x`], "CommandFailure", /there is no file .*gt\.txtx/],
  [
    "an unknown frequency",
    [clip, "--gt", gt, "--every", "1,often"],
    "UsageFault",
    /--every has "often"; expected whole/,
  ],
  [
    "unknown frames to decode",
    [clip, "--gt", gt, "--decode", "all,some"],
    "UsageFault",
    /--decode has "some"; expected all, reference, keyframes/,
  ],
  [
    "tiles that are none",
    [clip, "--gt", gt, "--every", "motion", "--tiles", "none,3"],
    "UsageFault",
    /--tiles has "3"; expected none, motion, or columns and rows, as in 3x2/,
  ],
  [
    "moving tiles without motion",
    [clip, "--gt", gt, "--every", "1,motion", "--tiles", "motion"],
    "UsageFault",
    /--tiles motion needs --every motion/,
  ],
  [
    "every 0 frames",
    [clip, "--gt", gt, "--every", "0"],
    "UsageFault",
    /--every has "0"; expected whole numbers from 1/,
  ],
  [
    "a comparison with a plot",
    [clip, "--gt", gt, "--every", "1", "--plot", "a.svg"],
    "UsageFault",
    /cannot be combined/,
  ],
  ["a bad row", [clip, "--gt", bad], "CommandFailure", /bad\.txt:1: height is "NaN"; expected a number/],
  [
    "ground truth without rows",
    [clip, "--gt", write("empty.txt", "\n")],
    "CommandFailure",
    /empty\.txt has nothing to score: it has no rows/,
  ],
  [
    "ground truth that does not count",
    [clip, "--gt", write("zero.txt", truth(3, 0))],
    "CommandFailure",
    /zero\.txt has nothing to score: all its 3 rows have confidence 0/,
  ],
  [
    "more frames than a clip has",
    [clip, "--gt", write("far.txt", `${truth(1)}1000001,1,484,54,72,72,1\n`)],
    "CommandFailure",
    /far\.txt:2: frame is 1000001; expected up to 1000000/,
  ],
  ["a model that is not there", [clip, "--gt", gt, "--model", "qualty"], "CommandFailure", /did you mean "quality"\?/],
];

for (const [what, args, kind, fault] of REFUSED)
  test(`${what}: rejected with an explanation`, () => refuses(args, kind, fault));

test("rejects a class that the model does not have", { skip: noModel }, () =>
  refuses([clip, "--gt", gt, "--class", "persn"], "UsageFault", /has no class "persn"; did you mean "person"\?/),
);

async function refuses(args: readonly string[], kind: string, fault: RegExp): Promise<void> {
  const { terminal } = stalledTerminal();
  await assert.rejects(
    async () => command.run(readArguments(command, args), terminal),
    (error: Error) => {
      assert.equal(error.name, kind, error.stack);
      assert.match(error.message, fault);
      return true;
    },
  );
}
