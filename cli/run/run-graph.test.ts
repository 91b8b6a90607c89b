import assert from "node:assert/strict";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, windhover } from "../windhover.fixture.ts";

const folder = makeFolder();

const graphWith = (params: string) => `
graph: filmed
about: A graph that can be filmed.
chains:
  main: [source, decode, { tee: { name: frames } }]
  data: [{ from: frames }, stage, print]
slots:
  video:
    params: { ${params} }
    chain: [{ from: frames }, stage, encode, { record: { path: out.mp4 } }]
`;
writeFileSync(join(folder, "filmed.yaml"), graphWith("path: { type: string }").replace("out.mp4", "$path"));
writeFileSync(join(folder, "pathless.yaml"), graphWith("quality: { type: integer, default: 1 }"));

test("--video writes what the slot video makes of every frame", async () => {
  const words = ["run", "filmed.yaml", "test:ball", "--frames", "20", "--video", "a b=c,d=e.mp4"];
  const { code, lines, stderr } = await windhover(words, folder);
  assert.equal(code, 0, stderr);
  assert.equal(lines.length, 20);
  assert.ok(statSync(join(folder, "a b=c,d=e.mp4")).size > 0);
  const replay = await windhover(["run", "demo", "a b=c,d=e.mp4", "-q"], folder);
  assert.equal(replay.lines.length, 20, replay.stderr);
});

const refusals = [
  [["run", "demo", "test:ball"], /the slot "video", and the graph "demo" has only "snapshots"\n.*--attach SLOT/],
  [["run", "record", "test:ball", "path=a.mp4"], /the graph "record" has no slots/],
  [["run", "pathless.yaml", "test:ball"], /parameter "path" of the slot "video"/],
  [
    ["launch", "source uri=test:ball ! decode ! print"],
    /a launch line has none; .* overlay ! encode ! record path=out\.mp4/,
  ],
] as const;
for (const [words, message] of refusals)
  test(`rejects --video on ${words[0]} ${words[1]}, with a hint`, async () => {
    const { code, stdout, stderr } = await windhover([...words, "--video", "out.mp4"], folder);
    assert.deepEqual({ code, stdout }, { code: 2, stdout: "" });
    assert.match(stderr, message);
  });

test("rejects a video in a missing folder before the run", async () => {
  const { code, stdout, stderr } = await windhover(["run", "filmed.yaml", "test:ball", "--video", "no/a.mp4"], folder);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.match(stderr, /--video no\/a\.mp4: there is no folder no; create it first/);
});
