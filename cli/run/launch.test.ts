import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, start, windhover } from "../windhover.fixture.ts";

const folder = makeFolder();
const LINE = "source uri=test:ball ! decode ! print";
const numbers = (lines: readonly string[]) => lines.map((line) => (JSON.parse(line) as { frame: number }).frame);

test("--frames 50 prints exactly 50 lines, with --json nothing else and a summary", async () => {
  const { code, lines, stderr } = await windhover(["launch", LINE, "--frames", "50", "--json"]);
  assert.equal(code, 0);
  assert.deepEqual(
    numbers(lines),
    Array.from({ length: 50 }, (_, index) => index),
  );
  const summary = JSON.parse(stderr) as Record<string, unknown>;
  assert.equal(summary.frames, 50);
  assert.equal(summary.state, "finished");
});

test("--frames holds for each source, and the summary counts them all", async () => {
  const line = "source uri=test:ball ! fakesink source uri=test:snow ! fakesink";
  const { code, stderr } = await windhover(["launch", line, "--frames", "10"]);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /^launch: 20 frames of 2 sources in/);
});

test("--seconds ends the stream by its own time", async () => {
  const { code, lines } = await windhover(["launch", LINE, "--seconds", "2", "--quiet"]);
  assert.equal(code, 0);
  assert.equal(lines.length, 50);
});

test("a probe and the graph print side by side, snapshots and drawings are written", async () => {
  const options = [
    "--probe",
    "decode",
    "--snapshot",
    "decode@0.5s=shot.png",
    "--svg",
    "graph.svg",
    "--dot",
    "live.dot",
  ];
  const { code, lines, stderr } = await windhover(["launch", LINE, "--frames", "20", "--stats", ...options], folder);
  assert.equal(code, 0, stderr);
  const probes = lines.map((line) => JSON.parse(line)).filter((line) => "probe" in line);
  assert.ok(probes.length > 0);
  assert.match(probes[0].caps, /^video\/x-raw/);
  assert.equal(numbers(lines.filter((line) => !line.includes('"probe"'))).length, 20);
  assert.deepEqual([...readFileSync(join(folder, "shot.png")).subarray(1, 4)], [...Buffer.from("PNG")]);
  assert.match(readFileSync(join(folder, "graph.svg"), "utf8"), /<svg[\s\S]*videotestsrc/);
  assert.match(readFileSync(join(folder, "live.dot"), "utf8"), /^digraph pipeline/);
  assert.match(stderr, /^step +element +fps +mean ms +p95 ms +queue +drops$/m);
});

test("fails and reports a snapshot that was never taken", async () => {
  const { code, stderr } = await windhover(["launch", LINE, "--frames", "5", "--snapshot", "decode@9s=no.png"], folder);
  assert.equal(code, 1);
  assert.match(stderr, /no\.png was not written: decode produced no frame at or after 9 s/);
  assert.equal(existsSync(join(folder, "no.png")), false);
});

test("lists the nodes for an unknown name", async () => {
  const { code, stderr } = await windhover(["launch", LINE, "--probe", "decod"]);
  assert.equal(code, 2);
  assert.match(stderr, /did you mean "decode"\?\n {2}steps: source, decode, print\n/);
});

test("a reader that has enough ends the run quietly", async () => {
  const run = start(["launch", LINE]);
  await run.until(({ printed }) => printed >= 3);
  run.child.stdout?.destroy();
  const { code, stderr } = await run.done;
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

test("rejects a faulty line with its columns", async () => {
  const { code, stderr } = await windhover(["launch", "source uri=test:ball ! decoed ! print"]);
  assert.equal(code, 2);
  assert.match(stderr, /^launch:1:24: unknown element "decoed"/);
});

test("recognises sources that are not videos", async () => {
  writeFileSync(join(folder, "note.txt"), "Dear diary, today I learned to fly.");
  writeFileSync(join(folder, "junk.mp4"), Buffer.alloc(100_000, "\x9b\x03\x00\xd1"));
  const [text, junk, none] = await Promise.all(
    ["note.txt", "junk.mp4", "none.mp4"].map((file) => windhover(["run", "demo", file], folder)),
  );
  assert.deepEqual([text?.code, junk?.code, none?.code], [1, 1, 1]);
  assert.match(text?.stderr ?? "", /note\.txt is not a video but a text file/);
  assert.match(junk?.stderr ?? "", /junk\.mp4 (is not a video|cannot be played)/);
  assert.match(none?.stderr ?? "", /there is no file none\.mp4/);
});
