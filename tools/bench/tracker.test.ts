import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, spawnWindhover } from "../../cli/windhover.fixture.ts";
import { makeSequence, rows } from "../eval/mot/mot.fixture.ts";
import { listPlays, readScenes } from "./tracker/scenes.ts";
import { readFolders } from "./tracker.ts";

const folder = makeFolder();
const [first, second, empty] = ["first", "second", "empty"].map((name) => join(folder, name)) as [
  string,
  string,
  string,
];
makeSequence(first, "one");
makeSequence(second, "two", { gt: rows(1) + rows(2).replaceAll(",20,", ",220,") });
makeSequence(empty, "none", { det: "" });

test("prints one table over the sequences of all folders, and fails without the lead", async () => {
  const { code, lines, stderr } = await spawnWindhover(["bench", "tracker", first, second]);
  assert.equal(code, 1, stderr);
  assert.match(lines[0] ?? "", /^HOTA\/IDF1\/MOTA +left out +default +byte +ocsort +sort +lead$/);
  assert.match(lines[1] ?? "", /^one +\d+\.\d\/\d+\.\d\/\d+\.\d .* [+-]\d+\.\d$/);
  assert.match(lines[2] ?? "", /^two /);
  assert.match(lines[3] ?? "", /^mean /);
  assert.match(lines[4] ?? "", /^µs\/frame( +\d+\.\d){5}/);
  assert.match(stderr, /below \(lead ≥ 3, on each sequence ≥ -1\)/);
});

test("rejects no folder, one sequence, and a folder without sequences", async () => {
  for (const [args, expected] of [
    [[], /missing: the folders of MOT sequences; expected DIR…, or folders separated by ":" in WINDHOVER_MOT/],
    [[first], /leave-one-out needs at least two sequences/],
    [[folder], /has no sequences/],
  ] as const) {
    const { code, stderr } = await spawnWindhover(["bench", "tracker", ...args]);
    assert.ok(code === 1 || code === 2, stderr);
    assert.match(stderr, expected);
  }
});

test("takes the folders of the environment if no argument is given", () => {
  assert.deepEqual(readFolders([], "/a:/b:"), ["/a", "/b"]);
  assert.deepEqual(readFolders(["/c"], "/a:/b"), ["/c"]);
});

test("plays a sequence forwards, backwards and at half its frame rate", () => {
  const [scene] = readScenes([first]);
  assert.ok(scene !== undefined);
  const plays = listPlays(scene);
  const lefts = plays.map(({ inputs }) => inputs.map(([sighting]) => sighting?.box[0]));
  assert.deepEqual(lefts, [
    [10, 11, 12, 13],
    [13, 12, 11, 10],
    [10, 12],
  ]);
  assert.deepEqual(
    plays.map(({ frameRate }) => frameRate),
    [10, 10, 5],
  );
  assert.deepEqual(
    plays.map(({ truth }) => truth.map(({ boxes }) => boxes[0])),
    lefts,
  );
});

test("a sequence without detections is tracked as empty", () =>
  assert.deepEqual(readScenes([empty])[0]?.inputs.flat(), []));
