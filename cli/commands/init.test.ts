import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { promisify } from "node:util";
import { buildElementPackage, isElementPackageBuilt } from "../../setup/element-package.mjs";
import { poll } from "../../test/watch.fixture.ts";
import { makeFolder, ROOT, spawnWindhover, windhover } from "../windhover.fixture.ts";

const run = promisify(execFile);
const folder = makeFolder();
const site = join(folder, "My Site");

before(async () => {
  if (!isElementPackageBuilt()) await buildElementPackage();
});

test("creates a workspace whose first graph runs and passes its test, and whose golden file fits", async () => {
  const { code, stdout, stderr } = await windhover(["init", "My Site"], folder);
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^Created a workspace in My Site\.$/m);
  assert.match(stdout, /^ {2}cd 'My Site'\n {2}npx windhover run first clips\/ball\.mp4$/m);
  assert.equal(JSON.parse(readFileSync(join(site, "package.json"), "utf8")).name, "my-site");
  const [first, golden, checked, tested] = await Promise.all([
    spawnWindhover(["run", "first", "clips/ball.mp4"], site),
    windhover(["golden", "check", "first", "clips/ball.mp4"], site),
    windhover(["check", "graphs/first.yaml"], site),
    windhover(["test"], join(site, "clips")),
  ]);
  assert.deepEqual(
    [first.code, first.lines.length, golden.code, checked.code, tested.code],
    [0, 4, 0, 0, 0],
    first.stderr + golden.stdout + tested.stdout + tested.stderr,
  );
});

/** As `npm install` would do, with the packages of this checkout. */
function install(): void {
  const modules = join(site, "node_modules");
  mkdirSync(join(modules, "@windhover"));
  symlinkSync(join(ROOT, "build/element"), join(modules, "@windhover/element"));
  for (const name of ["@types", "tsx"]) symlinkSync(join(ROOT, "node_modules", name), join(modules, name));
}

test("its element fits the types of the package, which rejects a wrong one, and its test passes", async () => {
  install();
  const tests = readdirSync(join(site, "elements/brightness")).filter((name) => name.endsWith(".test.ts"));
  assert.equal(tests.length, 1);
  await run("npm", ["test"], { cwd: site });
  const file = join(site, "elements/brightness/brightness.ts");
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace("({ everySeconds } = next);", "everySeconds = next.everyMinute;"));
  const checked = run(join(ROOT, "node_modules/.bin/tsc"), ["--noEmit", "--pretty", "false"], { cwd: site });
  await assert.rejects(checked, ({ stdout }: { stdout: string }) => {
    // The only fault: all else fits.
    assert.match(stdout, /^\S*brightness\.ts\(.*'everyMinute' does not exist.*\n$/);
    return true;
  });
  writeFileSync(file, text);
});

test("rejects a folder that is not empty, and changes nothing in it", async () => {
  const before = readdirSync(site);
  const again = await windhover(["init", "My Site"], folder);
  assert.equal(again.code, 2);
  assert.match(again.stderr, /My Site is not empty: it has .*; expected a new or empty folder/);
  assert.deepEqual(readdirSync(site), before);
  const file = await windhover(["init", "package.json"], site);
  assert.match(file.stderr, /package\.json is a file; expected a new or empty folder/);
  const none = await windhover(["init"], folder);
  assert.match(none.stderr, /missing: the FOLDER to create/);
});

test("an interrupt leaves an empty folder", async () => {
  const given = join(folder, "interrupted");
  const child = execFile(process.execPath, [join(ROOT, "cli/windhover.mjs"), "init", given]);
  const ended = once(child, "exit");
  await poll("it has begun", async () => existsSync(join(given, "windhover.yaml")));
  child.kill("SIGINT");
  const [code] = await ended;
  assert.deepEqual([code, readdirSync(given)], [1, []]);
});
