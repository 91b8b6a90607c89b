import assert from "node:assert/strict";
import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, start } from "../windhover.fixture.ts";

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
  assert.match(run.stderr, /^base\.yaml:11:7: there is no element "prnt".*did you mean "print"\?/m);
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
