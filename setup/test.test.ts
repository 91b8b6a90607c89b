import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = mkdtempSync(join(tmpdir(), "windhover-suite-"));
after(() => rmSync(folder, { recursive: true }));

const runSuite = (files: Record<string, string>, ...args: string[]) => runSuiteWith({}, files, ...args);

function runSuiteWith(more: NodeJS.ProcessEnv, files: Record<string, string>, ...args: string[]) {
  const paths = Object.entries(files).map(([name, text]) => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  });
  // A `node --test` inside another takes itself for one of the other's files unless this is gone.
  const { NODE_TEST_CONTEXT: _, WINDHOVER_TEST_ONCE: __, ...env } = process.env;
  const script = fileURLToPath(new URL("./test.mjs", import.meta.url));
  return spawnSync(process.execPath, [script, ...args, ...paths], { env: { ...env, ...more }, encoding: "utf8" });
}

let count = 0;
/** A test that fails on its first runs. */
function failing(name: string, times: number): string {
  const file = join(folder, `count-${count++}`);
  return `
    import { appendFileSync, readFileSync } from "node:fs";
    import { test } from "node:test";
    test("steady", () => {});
    test("${name}", () => {
      appendFileSync("${file}", "x");
      if (readFileSync("${file}").length <= ${times}) throw new Error("on purpose");
    });`;
}

const PASSING = `import { test } from "node:test"; test("passes", () => {});`;

test("fails a run with a file without tests, although node succeeds", () => {
  const { status, stderr } = runSuite({ "passing.test.ts": PASSING, "empty.test.ts": "export {};" });
  assert.equal(status, 1);
  assert.match(stderr, /empty\.test\.ts contains no test/);
});

test("counts tests that a file imports from another one", () => {
  writeFileSync(join(folder, "imported.ts"), PASSING);
  const { status, stdout } = runSuite({ "importing.test.ts": `import "./imported.ts";` });
  assert.equal(status, 0);
  assert.match(stdout, /pass 1\n/);
});

test("reports a path that does not exist", () => {
  const { status, stderr } = runSuite({}, "no/such.test.ts");
  assert.equal(status, 1);
  assert.match(stderr, /no such file or folder: no\/such\.test\.ts/);
});

test("lists the known soak tests for an unknown name", () => {
  const { status, stderr } = runSuite({}, "--soak", "no-such-soak");
  assert.equal(status, 1);
  assert.match(stderr, /no such soak test: no-such-soak; expected one of /);
});

test("shows the summary of node, retries a failed file alone and reports it as unsteady when it passes", () => {
  const { status, stdout, stderr } = runSuite({ "first.test.ts": PASSING, "late.test.ts": failing("wobbles", 1) });
  assert.equal(status, 0, stdout);
  assert.equal(stderr, "");
  assert.match(stdout, /pass 2\n/);
  assert.match(
    stdout,
    /on purpose[\s\S]*retrying alone: .*late\.test\.ts\n[\s\S]*unsteady: .*late\.test\.ts: wobbles\n/,
  );
  assert.doesNotMatch(stdout, /unsteady: .*(steady|passes)\n/);
  assert.doesNotMatch(stdout, /retrying alone: .*first/);
});

test("retries what failed in any way, alone: what fails twice fails the run, and is not unsteady", () => {
  const marker = JSON.stringify(join(folder, "has-ended"));
  const { status, stdout, stderr } = runSuite({
    "broken.test.ts": failing("breaks", 2),
    "ends.test.ts": `
      import { existsSync, writeFileSync } from "node:fs";
      import { test } from "node:test";
      test("ends", () => {
        if (existsSync(${marker})) return;
        writeFileSync(${marker}, "");
        process.exit(3);
      });`,
    "passing.test.ts": PASSING,
    "shared.test.ts": `import { test } from "node:test"; test("never", () => {}); throw new Error("not loaded");`,
  });
  assert.equal(status, 1);
  assert.match(stderr, /tests failed/);
  // In a process with others, which ran.
  assert.match(stdout, /not loaded[\s\S]*retrying alone: /);
  assert.match(stdout, /✔ passes[\s\S]*retrying alone: /);
  const [retried = ""] = /retrying alone: .*/.exec(stdout) ?? [];
  for (const name of ["broken", "ends", "shared"]) assert.ok(retried.includes(`${name}.test.ts`), retried);
  assert.doesNotMatch(retried, /passing/);
  assert.match(stdout, /unsteady: .*ends\.test\.ts: /);
  assert.doesNotMatch(stdout, /unsteady: .*(broken|shared)/);
});

test("does not retry when many files fail", () => {
  const names = ["one", "two", "three", "four"];
  const { status, stdout } = runSuite(Object.fromEntries(names.map((name) => [`${name}.test.ts`, failing(name, 1)])));
  assert.equal(status, 1);
  for (const name of names) assert.match(stdout, new RegExp(`✖ ${name} \\(`));
  assert.doesNotMatch(stdout, /retrying alone/);
});

test("does not retry with WINDHOVER_TEST_ONCE", () => {
  const { status, stdout, stderr } = runSuiteWith(
    { WINDHOVER_TEST_ONCE: "1" },
    { "late.test.ts": failing("wobbles", 1) },
  );
  assert.equal(status, 1);
  assert.match(stderr, /tests failed/);
  assert.doesNotMatch(stdout, /retrying alone/);
});

test("with --once: no retry, uncaught errors fail the test in which they began, files follow each other", () => {
  const [pidFile, seen] = [join(folder, "child-pid"), join(folder, "seen")];
  const noting = (name: string) => `
    import { appendFileSync } from "node:fs";
    import { after, test } from "node:test";
    const note = (what) => appendFileSync(${JSON.stringify(seen)}, what + " ${name}, ");
    note("load");
    after(() => note("close"));
    test("runs", () => note("run"));`;
  const { status, stdout, stderr } = runSuite(
    {
      "late.test.ts": `import { test } from "node:test";
        const fail = () => { throw new Error("too late"); };
        test("waits", async () => {
          setTimeout(fail);
          await new Promise((resolve) => setTimeout(resolve, 100));
        });`,
      "one.test.ts": noting("one"),
      "two.test.ts": noting("two"),
      "unloadable.test.ts": `
        import { spawn } from "node:child_process";
        import { writeFileSync } from "node:fs";
        const child = spawn("sleep", ["600"]);
        writeFileSync(${JSON.stringify(pidFile)}, String(child.pid));
        throw new Error("cannot be loaded");`,
    },
    "--once",
  );
  assert.equal(status, 1);
  assert.match(stderr, /tests failed/);
  assert.doesNotMatch(stdout, /retrying alone/);
  assert.match(stdout, /✖ waits [\s\S]*Error: too late\n\s+at .*fail .*late\.test\.ts:2/);
  assert.equal(
    readFileSync(seen, "utf8"),
    "load one, run one, close one, load two, run two, close two, ",
    "what a file of a process opened is closed before the next one is loaded",
  );
  assert.match(stdout, /cannot be loaded/);
  assert.match(stdout, /✖ .*unloadable\.test/);
  assert.ok(hasExited(pidFile), "the child process of a file that was not loaded is still running");
});

test("names the test that hangs", () => {
  const { status, stdout } = runSuiteWith(
    // Eight seconds.
    { WINDHOVER_TEST_PATIENCE: String((8 * Number(process.env.WINDHOVER_TEST_PATIENCE ?? 1)) / (15 * 60)) },
    {
      "hanging.test.ts": `
        import { test } from "node:test";
        test("ends", () => {});
        test("hangs", { timeout: 600_000 }, () => new Promise((resolve) => setTimeout(resolve, 600_000)));`,
    },
    "--once",
  );
  assert.equal(status, 1);
  assert.match(stdout, /^still running when its file was ended: .*hanging\.test\.ts: hangs$/m);
  assert.doesNotMatch(stdout, /hanging\.test\.ts: ends$/m);
});

test("kills child processes of a test process that is terminated", async () => {
  const pidFile = join(folder, "ended-child-pid");
  const file = join(folder, "ended.mjs");
  writeFileSync(
    file,
    `import ${JSON.stringify(fileURLToPath(new URL("./test-file.mjs", import.meta.url)))};
    import { spawn } from "node:child_process";
    import { writeFileSync } from "node:fs";
    writeFileSync(${JSON.stringify(pidFile)}, String(spawn("sleep", ["600"]).pid));
    console.log("started");`,
  );
  const { TEST_SLOTS: _, ...env } = process.env;
  const child = spawn(process.execPath, [file], { stdio: ["ignore", "pipe", "inherit"], env });
  await once(child.stdout, "data");
  child.kill("SIGTERM");
  assert.deepEqual(await once(child, "exit"), [143, null]);
  assert.ok(hasExited(pidFile), "its child process is still running");
});

function hasExited(pidFile: string): boolean {
  const status = `/proc/${readFileSync(pidFile, "utf8")}/status`;
  return !existsSync(status) || /^State:\tZ/m.test(readFileSync(status, "utf8"));
}
