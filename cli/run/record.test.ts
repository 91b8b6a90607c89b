import assert from "node:assert/strict";
import { existsSync, mkdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, start, windhover } from "../windhover.fixture.ts";

const folder = makeFolder();

test("Ctrl-C while recording leaves a file that plays to its end", async () => {
  const run = start(["run", "record", "test:ball", "path=ball.mp4", "--pace", "realtime", "--probe", "encode"], folder);
  await run.until(({ printed }) => printed >= 40);
  run.child.kill("SIGINT");
  const { code, stderr } = await run.done;
  assert.equal(code, 0, stderr);
  const recorded = Number(/record: (\d+) frames/.exec(stderr)?.[1]);
  assert.ok(recorded >= 40);
  assert.match(stderr, /^written: ball\.mp4, \d+ kB$/m);
  const replay = await windhover(["run", "demo", "ball.mp4"], folder);
  assert.equal(replay.code, 0, replay.stderr);
  // What was between the source and the encoder when the end came may be left out, at most what the queues hold.
  assert.ok(replay.lines.length >= 40 && replay.lines.length <= recorded, `${replay.lines.length} of ${recorded}`);
});

test("a slot attached on the command line gets the stream from its first frame", async () => {
  mkdirSync(join(folder, "shots"));
  const { code, stderr } = await windhover(
    ["run", "demo", "test:ball", "--frames", "30", "-q", "--attach", "snapshots:path=shots/{index}.png,seconds=0.5"],
    folder,
  );
  assert.equal(code, 0, stderr);
  const there = [0, 1, 2].map((index) => existsSync(join(folder, `shots/000${index}.png`)));
  assert.deepEqual(there, [true, true, true]);
  assert.ok(statSync(join(folder, "shots/0000.png")).size > 0);
});

test("fails when an element could not write its output", async () => {
  const line = "source uri=test:ball ! decode ! snapshot path=missing/a.png at=0 ! fakesink";
  const { code, stderr } = await windhover(["launch", line, "--frames", "5"], folder);
  assert.equal(code, 1);
  assert.match(stderr, /there is no folder missing/);
  assert.match(stderr, /^launch: 5 frames .*with errors/m);
});

test("rejects output files in a missing folder before the run", async () => {
  for (const option of [
    ["--snapshot", "decode@0s=missing/a.png"],
    ["--svg", "missing/a.svg"],
    ["--dot", "missing/a.dot"],
  ]) {
    const { code, stdout, stderr } = await windhover(["run", "demo", "test:ball", "--frames", "2", ...option], folder);
    assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
    assert.match(stderr, /^windhover: --\w+ .*: there is no folder missing; create it first\n$/);
  }
});
