import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { compileLaunch } from "../../graphs/compiler/compile.ts";
import { loadRegistry } from "../../graphs/runtime/registry.ts";
import { GraphFiles } from "../graph-files.ts";
import { stalledTerminal } from "../terminal.fixture.ts";
import { makeFolder, start } from "../windhover.fixture.ts";
import { reload } from "./reload.ts";
import { Reporter } from "./reporter.ts";

const folder = makeFolder();
const graph = join(folder, "mine.yaml");
const base = join(folder, "base.yaml");

writeFileSync(
  base,
  `graph: base
chains:
  main:
    - source
    - decode
    - stage
    - tee: { name: frames }
  lines:
    - from: frames
    - stage: { buffers: 4 }
    - print
`,
);
writeFileSync(graph, "graph: mine\nextends: base\nset:\n  stage: { buffers: 3 }\n");

/** As most editors save. */
function save(file: string, change: (text: string) => string): void {
  writeFileSync(`${file}.new`, change(readFileSync(file, "utf8")));
  renameSync(`${file}.new`, file);
}

test("applies a saved graph live, rejects a faulty one, and loses no frames", async () => {
  const run = start(["run", "./mine.yaml", "test:ball", "--pace", "realtime", "--watch"], folder);
  await run.until(({ printed }) => printed >= 5);
  save(graph, (text) => text.replace("buffers: 3", "buffers: 5"));
  await run.until(({ stderr }) => stderr.includes("live stage.max-size-buffers 3 → 5"));
  save(base, (text) => text.replace("- print", "- prnt"));
  await run.until(({ stderr }) => stderr.includes("continues unchanged"));
  assert.match(run.stderr, /^base\.yaml:11:7: unknown element "prnt".*did you mean "print"\?/m);
  save(base, (text) => text.replace("- prnt", "- print").replace("buffers: 4", "buffers: 6"));
  await run.until(({ stderr }) => stderr.includes("live stage-2.max-size-buffers 4 → 6"));
  const before = run.printed;
  await run.until(({ printed }) => printed >= before + 5);
  run.child.kill("SIGINT");
  const { code, lines } = await run.done;
  assert.equal(code, 0);
  const frames = lines.map((line) => (JSON.parse(line) as { frame: number }).frame);
  assert.deepEqual(
    frames,
    Array.from({ length: frames.length }, (_, index) => index),
  );
});

const OWN = 'graph: own\nchains:\n  main: [{ source: { uri: "test:ball", pace: realtime } }, decode, print]\n';

test("rejects a saved graph whose source is missing, before it changes anything", async () => {
  const own = join(folder, "own.yaml");
  writeFileSync(own, OWN);
  const run = start(["run", "./own.yaml", "--watch"], folder);
  await run.until(({ printed }) => printed >= 3);
  save(own, (text) => text.replace("test:ball", "nowhere.mp4"));
  await run.until(({ stderr }) => /not applied: there is no file nowhere\.mp4.*continues unchanged/.test(stderr));
  const before = run.printed;
  await run.until(({ printed }) => printed >= before + 5);
  run.child.kill("SIGINT");
  const { code, stderr } = await run.done;
  assert.equal(code, 0, stderr);
});

test("keeps the remaining --seconds after a relaunch", async () => {
  const own = join(folder, "timed.yaml");
  writeFileSync(own, OWN);
  const run = start(["run", "./timed.yaml", "--watch", "--seconds", "4", "--json"], folder);
  await run.until(({ printed }) => printed >= 25);
  save(own, (text) => text.replace("test:ball", "test:ball?width=320"));
  await run.until(({ stdout }) => stdout.includes('"width":320'));
  const { code, stderr } = await run.done;
  assert.equal(code, 0, stderr);
  const { frames } = JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as { frames: number };
  // Four seconds are 100 frames, and at least 25 more if the count started over.
  assert.ok(frames >= 100 && frames < 125, `${frames} frames`);
});

for (const [state, says, silent] of [
  ["running", /change failed, possibly in part: no room; fix and save the file/, /continues unchanged/],
  ["failed", /relaunch failed: the old graph is closed/, /continues/],
] as const)
  test(`reports a failed change that leaves the graph ${state}`, async () => {
    const { terminal, reader } = stalledTerminal();
    await reader.read();
    const compiled = compileLaunch("videotestsrc ! fakesink", { elements: new Map(), registry: loadRegistry() });
    const origin = { compile: () => compiled, textOf: () => undefined, files: () => [] };
    const graph = { state, apply: () => Promise.reject(new Error("no room")) };
    await reload(graph, origin, new Reporter(terminal, { json: false, quiet: false }), terminal);
    assert.match(reader.text, says);
    assert.doesNotMatch(reader.text, silent);
  });

test("reports a deleted file, without suggesting a similar name", async () => {
  const { terminal, reader } = stalledTerminal();
  await reader.read();
  const files = new GraphFiles(join(folder, "mine.yam"));
  const origin = {
    compile: () => assert.fail(String(files.read())),
    textOf: () => undefined,
    files: () => files.files,
  };
  const graph = { state: "running", apply: () => assert.fail("applied") } as const;
  await reload(graph, origin, new Reporter(terminal, { json: false, quiet: false }), terminal);
  assert.match(reader.text, /^not applied: the file \S+mine\.yam is missing; the graph continues unchanged\n$/);
});

test("a source that ends starts again, with the saved graph, until it is interrupted", async () => {
  const own = join(folder, "short.yaml");
  writeFileSync(
    own,
    'graph: short\nchains:\n  main: [{ source: { uri: "test:ball?frames=10" } }, decode, stage, print]\n',
  );
  const run = start(["run", "./short.yaml", "--watch", "--pace", "realtime"], folder);
  await run.until(({ printed }) => printed >= 25);
  save(own, (text) => text.replace("frames=10", "frames=10&width=320"));
  await run.until(({ stdout }) => stdout.includes('"width":320'));
  const before = run.printed;
  await run.until(({ printed }) => printed >= before + 25);
  run.child.kill("SIGINT");
  const { code, stderr, lines } = await run.done;
  assert.equal(code, 0, stderr);
  assert.equal(stderr.match(/the source has ended and starts again/g)?.length, 1);
  const frames = lines.map((line) => (JSON.parse(line) as { frame: number }).frame);
  assert.ok(frames.filter((frame) => frame === 0).length >= 4, stderr);
  assert.ok(frames.every((frame) => frame < 10));
});

test("--frames limits the frames of a source that starts again", async () => {
  const run = start(["run", "./short.yaml", "--watch", "--frames", "25"], folder);
  const { code, lines, stderr } = await run.done;
  assert.deepEqual([code, lines.length], [0, 25], stderr);
});
