import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = mkdtempSync(join(tmpdir(), "windhover-suite-"));
after(() => rmSync(folder, { recursive: true }));

function runSuite(files: Record<string, string>, ...args: string[]) {
  const paths = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  // A `node --test` inside another takes itself for one of the other's files unless this is gone.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  const script = fileURLToPath(new URL("./test.mjs", import.meta.url));
  return spawnSync(process.execPath, [script, ...args, ...paths], { env, encoding: "utf8" });
}

const PASSING = `import { test } from "node:test"; test("passes", () => {});`;

test("a passing file passes, with node's own closing lines", () => {
  const { status, stdout, stderr } = runSuite({ "passing.test.ts": PASSING });
  assert.equal(stderr, "");
  assert.equal(status, 0);
  assert.match(stdout, /pass 1\n/);
});

test("a failing test fails the run", () => {
  const { status, stderr } = runSuite({
    "failing.test.ts": `import { test } from "node:test"; test("fails", () => { throw new Error("on purpose"); });`,
  });
  assert.equal(status, 1);
  assert.match(stderr, /tests failed/);
});

test("a file without a test fails the run although node calls it a success", () => {
  const { status, stderr } = runSuite({ "passing.test.ts": PASSING, "empty.test.ts": "export {};" });
  assert.equal(status, 1);
  assert.match(stderr, /empty\.test\.ts holds no test/);
});

test("a path that is not there is named", () => {
  const { status, stderr } = runSuite({}, "no/such.test.ts");
  assert.equal(status, 1);
  assert.match(stderr, /no file or folder no\/such\.test\.ts/);
});

test("an unknown soak test is answered with the known ones", () => {
  const { status, stderr } = runSuite({}, "--soak", "no-such-soak");
  assert.equal(status, 1);
  assert.match(stderr, /no soak test no-such-soak; there are /);
});
