import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { withoutModel } from "../../test/golden/golden.fixture.ts";
import { paintStreet } from "../../test/golden/street.fixture.ts";
import { readArguments } from "../command.ts";
import { stalledTerminal } from "../terminal.fixture.ts";
import { makeFolder, windhover } from "../windhover.fixture.ts";
import command from "./eval-clip.ts";

const folder = makeFolder();
const [clip, gt, bad] = [join(folder, "street.y4m"), join(folder, "gt.txt"), join(folder, "bad.txt")];
const FRAMES = 12;
paintStreet(clip, FRAMES);
// The stop sign of the painted street, which never moves.
writeFileSync(gt, Array.from({ length: FRAMES }, (_, index) => `${index + 1},1,484,54,72,72,1,-1,-1,-1\n`).join(""));
writeFileSync(bad, "1,1,484,54,72,NaN,1\n");

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
  assert.match(readFileSync(plot, "utf8"), /street: 1 objects, 0 id switches/);
});

const REFUSED: readonly (readonly [what: string, args: readonly string[], kind: string, fault: RegExp])[] = [
  ["no CLIP", ["--gt", gt], "UsageFault", /missing: one CLIP/],
  ["no ground truth", [clip], "UsageFault", /missing: --gt FILE/],
  ["a clip that is not there", [`${clip}x`, "--gt", gt], "CommandFailure", /there is no file .*; did you mean "street/],
  ["ground truth that is not there", [clip, "--gt", `${gt}x`], "CommandFailure", /there is no file .*gt\.txtx/],
  ["a bad row", [clip, "--gt", bad], "CommandFailure", /bad\.txt:1: height is "NaN"; expected a number/],
  ["a model that is not there", [clip, "--gt", gt, "--model", "qualty"], "CommandFailure", /did you mean "quality"\?/],
];

for (const [what, args, kind, fault] of REFUSED)
  test(`${what}: refused with a sentence`, () => refuses(args, kind, fault));

test("a class that the model does not know: refused with a sentence", { skip: noModel }, () =>
  refuses([clip, "--gt", gt, "--class", "persn"], "UsageFault", /knows no "persn"; did you mean "person"\?/),
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
