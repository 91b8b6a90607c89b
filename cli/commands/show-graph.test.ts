import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, ROOT, windhover } from "../windhover.fixture.ts";

const folder = makeFolder();
const FIVE = `graph: five
chains:
  main:
    - source
    - decoed
    - tee: { name: frames }
  one:
    - from: frmes
    - stage: { buffers: 5000 }
    - print
  two:
    - from: frames
    - queue: { max-size-bufers: 3, leaky: sideways }
    - print
`;

test("the templates are checked in silence", async () => {
  const templates = ["graphs", "graphs/recipes"].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).flatMap((file) => (file.endsWith(".yaml") ? `${folder}/${file}` : [])),
  );
  assert.ok(templates.length > 0);
  const { code, stdout, stderr } = await windhover(["check", ...templates]);
  assert.deepEqual({ code, stdout, stderr }, { code: 0, stdout: "", stderr: "" });
});

test("five different faults are five messages, each with its place, and JSON has the same", async () => {
  writeFileSync(join(folder, "five.yaml"), FIVE);
  const [text, json] = await Promise.all([
    windhover(["check", "five.yaml"], folder),
    windhover(["check", "--json", "five.yaml"], folder),
  ]);
  assert.equal(text.code, 2);
  assert.equal(text.stdout, "");
  const places = text.stderr
    .trimEnd()
    .split("\n")
    .map((line) => /^five\.yaml:\d+:\d+: /.exec(line)?.[0].trim());
  assert.deepEqual(places, [
    "five.yaml:5:7:",
    "five.yaml:8:13:",
    "five.yaml:9:25:",
    "five.yaml:13:16:",
    "five.yaml:13:43:",
  ]);
  assert.match(text.stderr, /did you mean "decode"\?/);
  assert.match(text.stderr, /did you mean "max-size-buffers"\?/);
  assert.equal(json.code, 2);
  assert.deepEqual(
    (JSON.parse(json.stdout) as { at: { line: number; column: number } }[]).map(({ at }) => [at.line, at.column]),
    [
      [5, 7],
      [8, 13],
      [9, 25],
      [13, 16],
      [13, 43],
    ],
  );
});

test("rejects all files that are not graphs, by name", async () => {
  const levels = Array.from({ length: 12 }, (_, i) => `a${i + 1}: &a${i + 1} [${`*a${i},`.repeat(10)}]`);
  writeFileSync(join(folder, "bomb.yaml"), `a0: &a0 [x]\n${levels.join("\n")}\n`);
  writeFileSync(join(folder, "large.yaml"), `graph: x\n${"# filler\n".repeat(1_200_000)}`);
  writeFileSync(join(folder, "junk.yaml"), Buffer.from([0x00, 0xff, 0x80, 0x1b, 0x47, 0x40]));
  writeFileSync(join(folder, "syntax.yaml"), "graph: x\nchains: [\n");
  writeFileSync(join(folder, "empty.yaml"), "");
  const names = ["bomb.yaml", "large.yaml", "junk.yaml", "syntax.yaml", "empty.yaml", "none.yaml", ".", "pipe.yaml"];
  execFileSync("mkfifo", [join(folder, "pipe.yaml")]);
  const { code, stderr } = await windhover(["check", ...names], folder);
  assert.equal(code, 2);
  const lines = stderr.trimEnd().split("\n");
  for (const name of names)
    assert.ok(
      lines.some((line) => line.startsWith(`${name}:`)),
      `${name} in\n${stderr}`,
    );
  for (const line of lines) assert.match(line, /^[\w.]+:\d+:\d+: /);
  assert.match(stderr, /large\.yaml:1:1: the file is too large for a graph: 10\.8 MB/);
  assert.match(stderr, /none\.yaml:1:1: there is no such file/);
  assert.match(stderr, /pipe\.yaml:1:1: this is not a regular file/);
});
