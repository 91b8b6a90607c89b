import assert from "node:assert/strict";
import { test } from "node:test";
import { COMMANDS } from "./commands.ts";
import { helpOf } from "./help.ts";
import { Terminal } from "./terminal.ts";
import { readVersion } from "./version.ts";
import { windhover } from "./windhover.fixture.ts";

test("every command has a help that fits 80 columns, with examples", async () => {
  const terminal = new Terminal(process.stdout, process.stderr, { NO_COLOR: "1" });
  for (const [name, { load }] of Object.entries(COMMANDS)) {
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
    windhover([]),
    windhover(["help", "run"]),
    windhover(["--version"]),
    windhover(["lanch"]),
    windhover(["check", "--jsn", "x.yaml"]),
    windhover(["--json"]),
  ]);
  assert.equal(bare?.code, 0);
  for (const name of Object.keys(COMMANDS)) assert.match(bare?.stdout ?? "", new RegExp(`^ {2}${name} `, "m"));
  assert.match(help?.stdout ?? "", /--snapshot NODE@TIME=FILE/);
  assert.equal(version?.stdout, `windhover ${readVersion()}\n`);
  assert.deepEqual([typo?.code, option?.code, early?.code], [2, 2, 2]);
  assert.match(typo?.stderr ?? "", /did you mean "launch"\?/);
  assert.match(option?.stderr ?? "", /did you mean "--json"\?/);
});
