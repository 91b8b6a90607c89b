import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { COMMANDS } from "./commands.ts";
import { helpOf } from "./help.ts";
import { Terminal } from "./terminal.ts";
import { readVersion } from "./version.ts";
import { makeFolder, ROOT, spawnWindhover, windhover } from "./windhover.fixture.ts";

test("every command has a help that fits 80 columns, with examples", async () => {
  const terminal = new Terminal(process.stdout, process.stderr, { NO_COLOR: "1" });
  const leaves = Object.entries(COMMANDS).flatMap(([name, entry]) =>
    "commands" in entry
      ? Object.entries(entry.commands).map(([second, leaf]) => [`${name} ${second}`, leaf] as const)
      : [[name, entry] as const],
  );
  for (const [name, { load }] of leaves) {
    const command = await load();
    assert.equal(command.name, name);
    assert.ok(command.examples.length > 0, name);
    for (const example of command.examples) assert.match(example, new RegExp(`^${name}\\b`));
    for (const line of helpOf(command, terminal).split("\n"))
      assert.ok(line.length <= 80 || line.startsWith("  npx"), `${name}: ${line}`);
  }
});

test("help, version and a command that is not there", async () => {
  const [bare, help, version, typo, option, early] = await Promise.all([
    spawnWindhover([]),
    spawnWindhover(["help", "run"]),
    spawnWindhover(["--version"]),
    spawnWindhover(["lanch"]),
    spawnWindhover(["check", "--jsn", "x.yaml"]),
    spawnWindhover(["--json"]),
  ]);
  assert.equal(bare?.code, 0);
  for (const name of Object.keys(COMMANDS)) assert.match(bare?.stdout ?? "", new RegExp(`^ {2}${name} `, "m"));
  assert.match(help?.stdout ?? "", /--snapshot NODE@TIME=FILE/);
  assert.equal(version?.stdout, `windhover ${readVersion()}\n`);
  for (const { stderr } of [bare, help, version]) assert.equal(stderr, "");
  assert.deepEqual([typo?.code, option?.code, early?.code], [2, 2, 2]);
  assert.match(typo?.stderr ?? "", /did you mean "launch"\?/);
  assert.match(option?.stderr ?? "", /did you mean "--json"\?/);
});

test("prints every error as a line of JSON with --json", async () => {
  const folder = makeFolder();
  writeFileSync(join(folder, "bad.yaml"), "graph: bad\nchains: { main: [source, decoed, prnt] }\n");
  const outcomes = await Promise.all([
    windhover(["run", "--json", "demo", "nowhere.mp4"], folder),
    windhover(["run", "--json", "./bad.yaml", "test:ball"], folder),
    windhover(["explain", "--json", "nosuch"], folder),
    windhover(["run", "--json", "demo", "test:ball", "--fraems", "3"], folder),
  ]);
  const kinds = outcomes.map(({ code, stderr }) => [
    code,
    ...stderr
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { type: string }).type),
  ]);
  assert.deepEqual(kinds, [
    [1, "error"],
    [2, "fault", "fault"],
    [2, "error"],
    [2, "error"],
  ]);
});

test("explains what to do without libraries or without the addon, without a stack", async () => {
  const bare = makeFolder();
  for (const file of ["cli/windhover.mjs", "setup/load.mjs"]) cpSync(join(ROOT, file), join(bare, file));
  const run = (file: string, env: NodeJS.ProcessEnv): Promise<{ code: unknown; stderr: string }> =>
    new Promise((resolve) => {
      execFile(process.execPath, [file, "check", "graphs/demo.yaml"], { cwd: ROOT, env }, (error, _, stderr) =>
        resolve({ code: error?.code, stderr }),
      );
    });
  const [unready, unbuilt] = await Promise.all([
    run(join(bare, "cli/windhover.mjs"), process.env),
    run(join(ROOT, "cli/windhover.mjs"), { ...process.env, NO_COLOR: "1", WINDHOVER_ADDON: "/nowhere.node" }),
  ]);
  for (const { code, stderr } of [unready, unbuilt]) {
    assert.equal(code, 1);
    assert.match(stderr, /^windhover: .*run `npm start` or `npm test` once[^\n]*\n$/);
  }
});
