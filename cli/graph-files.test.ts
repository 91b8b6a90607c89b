import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { GraphFiles } from "./graph-files.ts";
import { makeFolder, windhover } from "./windhover.fixture.ts";

const folder = makeFolder();
const write = (name: string, text: string): string => {
  const file = join(folder, name);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
};

const part = (step: string) => `graph: parts\nparts:\n  one:\n    chain:\n      - ${step}\n`;
write("parts/video.yaml", part("use: deeper/more.yaml#one"));
write("parts/deeper/more.yaml", part("use: filters/filters.yaml#one"));
write("node_modules/filters/package.json", '{ "name": "filters", "version": "1.0.0" }');
write("node_modules/filters/filters.yaml", part("use: ./own.yaml#one"));
write("node_modules/filters/own.yaml", part("queue: { name: found }"));
const graph = write(
  "graphs/own.yaml",
  "graph: own\nchains:\n  main:\n    - source\n    - decode\n    - use: ../parts/video.yaml#one\n    - fakesink\n",
);

test("paths of parts are relative to the file that has them, or in a package", async () => {
  const { code, stdout, stderr } = await windhover(["explain", graph, "test:ball"], folder);
  assert.deepEqual([code, stderr], [0, ""]);
  const places = "node_modules/filters/own.yaml:5, used at node_modules/filters/filters.yaml:5";
  assert.ok(stdout.includes(`  found: queue, ${places}, parts/deeper/more.yaml:5, parts/video.yaml:5, line 6`), stdout);
});

test("a fault in a part of another file names the file, and `check` exits with code 2", async () => {
  const wrong = write(
    "graphs/wrong.yaml",
    "graph: wrong\nchains: { main: [source, { use: library.yaml#one }, fakesink] }\n",
  );
  write("graphs/library.yaml", part("nothing"));
  const { code, stderr } = await windhover(["check", wrong], folder);
  assert.equal(code, 2);
  assert.match(stderr, /^graphs\/library.yaml:5:9: unknown element "nothing".*, used at \S*wrong.yaml:2\n$/);
});

test("files of parts are among those that are watched", () => {
  const files = new GraphFiles(graph);
  files.read();
  const parts = files.loader()("../parts/video.yaml") ?? assert.fail();
  parts.load?.("deeper/more.yaml");
  assert.deepEqual(files.files, [graph, join(folder, "parts/video.yaml"), join(folder, "parts/deeper/more.yaml")]);
});
