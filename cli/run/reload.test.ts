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

/** As most editors do it. */
function save(file: string, change: (text: string) => string): void {
  writeFileSync(`${file}.new`, change(readFileSync(file, "utf8")));
  renameSync(`${file}.new`, file);
}

test("a saved graph is applied live, a faulty one is not, and the frames go on", async () => {
  const run = start(["run", "./mine.yaml", "test:ball", "--pace", "realtime", "--watch"], folder);
  await run.until(({ printed }) => printed >= 5);
  save(graph, (text) => text.replace("buffers: 3", "buffers: 5"));
  await run.until(({ stderr }) => stderr.includes("live stage.max-size-buffers 3 → 5"));
  save(base, (text) => text.replace("- print", "- prnt"));
  await run.until(({ stderr }) => stderr.includes("goes on as it was"));
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

test("a saved source that is not there is refused before anything is touched", async () => {
  const own = join(folder, "own.yaml");
  writeFileSync(own, OWN);
  const run = start(["run", "./own.yaml", "--watch"], folder);
  await run.until(({ printed }) => printed >= 3);
  save(own, (text) => text.replace("test:ball", "nowhere.mp4"));
  await run.until(({ stderr }) => /not changed: there is no file nowhere\.mp4.*goes on as it was/.test(stderr));
  const before = run.printed;
  await run.until(({ printed }) => printed >= before + 5);
  run.child.kill("SIGINT");
  const { code, stderr } = await run.done;
  assert.equal(code, 0, stderr);
});

test("after a relaunch --seconds has what is left of it", async () => {
  const own = join(folder, "timed.yaml");
  writeFileSync(own, OWN);
  const run = start(["run", "./timed.yaml", "--watch", "--seconds", "4", "--json"], folder);
  await run.until(({ printed }) => printed >= 25);
  save(own, (text) => text.replace("test:ball", "test:ball?width=320"));
  await run.until(({ stdout }) => stdout.includes('"width":320'));
  const { code, stderr } = await run.done;
  assert.equal(code, 0, stderr);
  const { frames } = JSON.parse(stderr.trim().split("\n").at(-1) ?? "") as { frames: number };
  // Four seconds are 100 frames, and at least 25 more if they began anew.
  assert.ok(frames >= 100 && frames < 125, `${frames} frames`);
});

for (const [state, says, silent] of [
  ["running", /changed in part at most: no room; mend and save it/, /goes on as it was/],
  ["failed", /relaunch failed: the graph as it was is closed/, /goes on/],
] as const)
  test(`a change that fails and leaves the graph ${state} is said to have done so`, async () => {
    const { terminal, reader } = stalledTerminal();
    await reader.read();
    const compiled = compileLaunch("videotestsrc ! fakesink", { elements: new Map(), registry: loadRegistry() });
    const origin = { compile: () => compiled, textOf: () => undefined, files: () => [] };
    const graph = { state, apply: () => Promise.reject(new Error("no room")) };
    await reload(graph, origin, new Reporter(terminal, { json: false, quiet: false }), terminal);
    assert.match(reader.text, says);
    assert.doesNotMatch(reader.text, silent);
  });

test("a file that has gone is said to be gone, and nothing like it is suggested", async () => {
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
  assert.match(reader.text, /^not changed: the file \S+mine\.yam is gone; it goes on as it was\n$/);
});
