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

test("passes a passing file, with the summary of node", () => {
  const { status, stdout, stderr } = runSuite({ "passing.test.ts": PASSING });
  assert.equal(stderr, "");
  assert.equal(status, 0);
  assert.match(stdout, /pass 1\n/);
});

test("fails a run with a file without tests, although node succeeds", () => {
  const { status, stderr } = runSuite({ "passing.test.ts": PASSING, "empty.test.ts": "export {};" });
  assert.equal(status, 1);
  assert.match(stderr, /empty\.test\.ts contains no test/);
});

test("fails the test in which an uncaught error began, and shows where it was thrown", () => {
  const late = `import { test } from "node:test";
    const fail = () => { throw new Error("on purpose"); };
    test("waits", async () => {
      setTimeout(fail);
      await new Promise((resolve) => setTimeout(resolve, 100));
    });`;
  const { status, stdout } = runSuite({ "late.test.ts": late }, "--once");
  assert.equal(status, 1);
  assert.match(stdout, /✖ waits [\s\S]*Error: on purpose\n\s+at .*fail .*late\.test\.ts:2/);
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

test("retries a failed file alone and reports it as unsteady when it passes", () => {
  const { status, stdout, stderr } = runSuite({ "first.test.ts": PASSING, "late.test.ts": failing("wobbles", 1) });
  assert.equal(status, 0, stdout);
  assert.equal(stderr, "");
  assert.match(
    stdout,
    /on purpose[\s\S]*retrying alone: .*late\.test\.ts\n[\s\S]*unsteady: .*late\.test\.ts: wobbles\n/,
  );
  assert.doesNotMatch(stdout, /unsteady: .*(steady|passes)\n/);
  assert.doesNotMatch(stdout, /retrying alone: .*first/);
});

test("fails a run with a test that fails twice, and does not report it as unsteady", () => {
  const { status, stdout, stderr } = runSuite({ "broken.test.ts": failing("breaks", 2) });
  assert.equal(status, 1);
  assert.match(stderr, /tests failed/);
  assert.match(stdout, /retrying alone/);
  assert.doesNotMatch(stdout, /unsteady/);
});

test("retries a file whose process exited before its tests ended", () => {
  const marker = JSON.stringify(join(folder, "has-ended"));
  const { status, stdout } = runSuite({
    "ends.test.ts": `
      import { existsSync, writeFileSync } from "node:fs";
      import { test } from "node:test";
      test("ends", () => {
        if (existsSync(${marker})) return;
        writeFileSync(${marker}, "");
        process.exit(3);
      });`,
  });
  assert.equal(status, 0, stdout);
  assert.match(stdout, /unsteady: .*ends\.test\.ts: /);
});

test("does not retry when many files fail", () => {
  const names = ["one", "two", "three", "four"];
  const { status, stdout } = runSuite(Object.fromEntries(names.map((name) => [`${name}.test.ts`, failing(name, 1)])));
  assert.equal(status, 1);
  for (const name of names) assert.match(stdout, new RegExp(`✖ ${name} \\(`));
  assert.doesNotMatch(stdout, /retrying alone/);
});

test("does not retry with --once or WINDHOVER_TEST_ONCE", () => {
  const byOption = runSuite({ "late.test.ts": failing("wobbles", 1) }, "--once");
  const byVariable = runSuiteWith({ WINDHOVER_TEST_ONCE: "1" }, { "late.test.ts": failing("wobbles", 1) });
  for (const { status, stdout, stderr } of [byOption, byVariable]) {
    assert.equal(status, 1);
    assert.match(stderr, /tests failed/);
    assert.doesNotMatch(stdout, /retrying alone/);
  }
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

test("reports a file that fails to load, and kills its child processes", () => {
  const pidFile = join(folder, "child-pid");
  const { status, stdout } = runSuite(
    {
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
  assert.match(stdout, /cannot be loaded/);
  assert.match(stdout, /✖ .*unloadable\.test/);
  assert.ok(hasExited(pidFile), "its child process is still running");
});

test("closes what a file opened before the next file of the process is loaded", () => {
  const seen = join(folder, "seen");
  const file = (name: string) => `
    import { appendFileSync } from "node:fs";
    import { after, test } from "node:test";
    const note = (what) => appendFileSync(${JSON.stringify(seen)}, what + " ${name}, ");
    note("load");
    after(() => note("close"));
    test("runs", () => note("run"));`;
  const { status, stdout } = runSuite({ "one.test.ts": file("one"), "two.test.ts": file("two") }, "--once");
  assert.equal(status, 0, stdout);
  assert.equal(readFileSync(seen, "utf8"), "load one, run one, close one, load two, run two, close two, ");
});

test("reports a file of a shared process that fails to load, and runs the others", () => {
  const { status, stdout } = runSuite({
    "broken.test.ts": `import { test } from "node:test"; test("never", () => {}); throw new Error("on purpose");`,
    "passing.test.ts": PASSING,
  });
  assert.equal(status, 1);
  assert.match(stdout, /on purpose[\s\S]*✔ passes[\s\S]*retrying alone: .*broken\.test\.ts\n/);
  assert.doesNotMatch(stdout, /retrying alone: .*passing/);
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
