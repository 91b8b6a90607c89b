import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { makeFolder, windhover } from "../windhover.fixture.ts";

const folder = makeFolder();
writeFileSync(join(folder, "windhover.yaml"), "http:\n  port: 9000\ndatabase:\n  url: postgres://u:hunter2@h/d\n");

test("every key is shown with its value and where it comes from, secrets masked", async () => {
  const { code, stdout, lines } = await windhover(["config"], folder);
  assert.equal(code, 0);
  assert.ok(lines.some((line) => /^http\.port +9000 +windhover\.yaml:2:9$/.test(line)));
  assert.ok(lines.some((line) => /^http\.host +"127\.0\.0\.1" +default$/.test(line)));
  assert.ok(lines.some((line) => /^database\.url +"postgres:\/\/\*{3}@h\/d" +windhover\.yaml:4:8$/.test(line)));
  assert.doesNotMatch(stdout, /hunter2/);
});

test("--json prints the same as JSON, and nothing else", async () => {
  const { code, stdout, stderr } = await windhover(["config", "--json"], folder);
  assert.equal(code, 0);
  assert.equal(stderr, "");
  const rows = JSON.parse(stdout) as { key: string; value: unknown; variable: string; from: string }[];
  assert.deepEqual(
    rows.find(({ key }) => key === "http.port"),
    { key: "http.port", value: 9000, variable: "WINDHOVER_HTTP_PORT", from: "windhover.yaml:2:9" },
  );
});

test("--example is a file that can be used", async () => {
  const { stdout } = await windhover(["config", "--example"], folder);
  writeFileSync(join(folder, "example.yaml"), stdout);
  assert.equal((await windhover(["config", "--config", "example.yaml"], folder)).code, 0);
});

test("reports a missing file, and faults with their position; exit code 1", async () => {
  writeFileSync(join(folder, "bad.yaml"), "htpp:\n  port: 1\nhttp:\n  port: many\n");
  const missing = await windhover(["config", "--config", "none.yaml"], folder);
  assert.equal(missing.code, 1);
  assert.match(missing.stderr, /none\.yaml: the file does not exist/);
  const { code, stdout, stderr } = await windhover(["config", "--config", "bad.yaml"], folder);
  assert.deepEqual([code, stdout], [1, ""]);
  assert.match(stderr, /bad\.yaml:1:1: there is no setting "htpp"; did you mean "http"\?/);
  assert.match(stderr, /bad\.yaml:4:9: http\.port is "many"/);
});
