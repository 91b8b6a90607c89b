/**
 * Runs the tests. Passes files to Node: given a folder, Node 20 runs no test and succeeds.
 *
 *   node setup/test.mjs                  every test of the project, and the checks in parallel
 *   node setup/test.mjs PATH…            only the tests in these files and folders
 *   node setup/test.mjs --soak [NAME…]   the soak tests of test/soak/ with full counts, all or some
 *   node setup/test.mjs --once …         no retry of failed files; the same as WINDHOVER_TEST_ONCE=1
 *
 * WINDHOVER_TEST_PATIENCE multiplies the time limits, for emulated processors. WINDHOVER_TEST_APART=1 runs every file in a
 * process of its own, which shows its processor time.
 */
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from "node:fs";
import { availableParallelism, freemem, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { buildBundle, isBundled } from "./bundle.mjs";
import { bundleTests } from "./bundle-tests.mjs";
import { runChecks } from "./check.mjs";
import { CommandFailure, endCommandsOnSignal, PATIENCE, runCommand } from "./command.mjs";
import { findSoaks, findTests } from "./find-tests.mjs";
import { readEvents } from "./test-events.mjs";
import { openSlots } from "./test-slots.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MINUTE_MS = 60_000;
const SHOWN_FILES = 400;

/**
 * A file is ended after `fileMs`; `totalMs` is a fallback. Both only end what hangs: several files run in one process, which
 * takes two minutes on two idle cores and several times as long beside other work.
 */
const LIMITS = {
  test: {
    fileMs: 15 * MINUTE_MS * PATIENCE,
    totalMs: 45 * MINUTE_MS,
    // At most; tests often wait, for live streams and for processes.
    concurrency: Math.min(4 * availableParallelism(), 10),
  },
  soak: { fileMs: 60 * MINUTE_MS, totalMs: 240 * MINUTE_MS, concurrency: 1 },
};

/**
 * Up to this many failed files are run again. Machines are shared and noisy: a real fault fails twice, and an unsteady
 * test is reported without failing the run. More failures than this are not noise.
 */
const MAX_RETRIED_FILES = 3;

const MEMORY = "/dev/shm";
const IN_MEMORY = /^windhover-tests-(\d+)$/;
/** Several times what the tests have at once. */
const ENOUGH_BYTES = 6 * 2 ** 30;

/**
 * Tests create tens of thousands of files that live for seconds: in memory that takes a third of the processor time.
 * @returns {string | null} a folder for their temporary files; null where there is not enough memory, or TMPDIR is set
 */
function openMemoryFolder() {
  if (process.env.TMPDIR !== undefined || !existsSync(MEMORY)) return null;
  for (const name of readdirSync(MEMORY)) {
    const [, pid] = IN_MEMORY.exec(name) ?? [];
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmSync(join(MEMORY, name), { recursive: true, force: true });
  }
  const { bavail, bsize } = statfsSync(MEMORY);
  if (Math.min(bavail * bsize, freemem()) < ENOUGH_BYTES) return null;
  const folder = join(MEMORY, `windhover-tests-${process.pid}`);
  try {
    mkdirSync(folder);
    // Also for the user of PostgreSQL, whose umask is not ours.
    chmodSync(folder, 0o755);
    return folder;
  } catch {
    return null;
  }
}

/** Prints time and processor time of every process of tests, and of files that share one. */
function showSlowest({ slowest, sharing }, tookMs) {
  const cpuOf = (cpu) => (cpu === null ? "" : `${cpu.toFixed(1)}`).padStart(8);
  const cpu = slowest.reduce((sum, run) => sum + (run.cpu ?? 0), 0);
  console.log(`the tests took ${(tookMs / MINUTE_MS).toFixed(1)} minutes and ${Math.round(cpu)} s of processor time`);
  console.log("the slowest files, in seconds, and their processor time:");
  for (const { files, ms, cpu } of slowest.slice(0, SHOWN_FILES)) {
    const others = files.length > 1 ? ` and ${files.length - 1} others, together` : "";
    console.log(`${(ms / 1000).toFixed(1).padStart(7)}${cpuOf(cpu)}  ${relative(ROOT, files[0])}${others}`);
  }
  if (sharing.length > 0) console.log("files that share a process, by their processor time:");
  for (const [name, cpu] of sharing.slice(0, SHOWN_FILES)) console.log(`${cpuOf(cpu)}  ${name}`);
}

/** @returns {Promise<string[]>} faults as messages; an empty list on success */
async function runTests(files, limits, environment, isOnce) {
  // Programs load from sources in twice the time, and confined ones may not read them.
  if (!isBundled()) await buildBundle();
  const { runs, writeAlone, children } = await bundleTests(files);
  // Tests reach this machine only: reading further certificates would cost each Node process 0.1 s.
  const { NODE_EXTRA_CA_CERTS: _, ...needed } = environment;
  // For tests that load onnxruntime directly.
  const env = { ...needed, ORT_DISABLE_TELEMETRY: "1", TEST_CHILDREN: children };
  const beganMs = performance.now();
  const folder = limits === LIMITS.soak ? null : openMemoryFolder();
  if (folder !== null) {
    env.TMPDIR = folder;
    process.once("exit", () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }));
  }
  const first = await runFiles(runs, limits, env);
  if (runs.size > 1) showSlowest(first, performance.now() - beganMs);
  const { failed } = first;
  for (const { file, hanging } of failed)
    for (const test of hanging) console.log(`still running when its file was ended: ${relative(ROOT, file)}: ${test}`);
  if (isOnce || !first.mayRetry || failed.length === 0 || failed.length > MAX_RETRIED_FILES) return first.faults;
  console.log(`\nretrying alone: ${failed.map(({ file }) => relative(ROOT, file)).join(", ")}`);
  const retried = new Map(failed.map(({ file }) => [writeAlone(file), [file]]));
  const second = await runFiles(retried, { ...limits, concurrency: 1 }, env);
  showUnsteady(failed.filter(({ file }) => !second.failed.some((other) => other.file === file)));
  return [...first.faults.filter((fault) => fault !== FAILED), ...second.faults];
}

const FAILED = "tests failed";

/** @returns faults as messages; `mayRetry` when tests failed in a run that was not ended early */
async function runFiles(runs, limits, env) {
  const folder = mkdtempSync(join(tmpdir(), "windhover-test-"));
  const events = join(folder, "events.ndjson");
  const cpuFile = join(folder, "cpu.ndjson");
  const args = [
    ...["--test", `--test-concurrency=${limits.concurrency}`, `--test-timeout=${limits.totalMs * PATIENCE}`],
    ...["--test-reporter=./setup/test-report.mjs", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./setup/test-events.mjs", `--test-reporter-destination=${events}`],
    ...runs.keys(),
  ];
  const faults = [];
  const slotsPath = join(folder, "slots");
  const slots = await openSlots(slotsPath, limits.concurrency);
  try {
    await runCommand(process.execPath, args, {
      ...{ cwd: ROOT, limitMs: limits.totalMs, show: true },
      env: { ...env, TEST_CPU_FILE: cpuFile, TEST_SLOTS: slotsPath, TEST_FILE_MS: String(limits.fileMs) },
    }).catch((error) => {
      if (!(error instanceof CommandFailure)) throw error;
      faults.push(
        error.late ? `the tests took longer than ${(limits.totalMs * PATIENCE) / MINUTE_MS} minutes` : FAILED,
      );
    });
    const { executed, slowest, silent, running, failed } = readEvents(events, runs, ROOT);
    if (executed === 0 && faults.length === 0) faults.push("no test was executed");
    for (const file of silent) faults.push(`${relative(ROOT, file)} contains no test`);
    for (const test of running) faults.push(`still running at the time limit: ${relative(ROOT, test)}`);
    const cpu = readCpu(cpuFile);
    const measured = slowest.map(({ run, files, ms }) => ({ files, ms, cpu: cpu.get(run) ?? null }));
    const sharing = [...cpu].filter(([name]) => !runs.has(name)).sort(([, a], [, b]) => b - a);
    return { faults, slowest: measured, sharing, failed, mayRetry: faults.includes(FAILED) };
  } finally {
    slots.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @returns {Map<string, number>} seconds of processor time by module, and by file of a shared process; without processes that were killed */
function readCpu(path) {
  const lines = existsSync(path) ? readFileSync(path, "utf8").split("\n") : [];
  return new Map(lines.filter(Boolean).map((line) => JSON.parse(line)));
}

function showUnsteady(unsteady) {
  if (unsteady.length === 0) return;
  console.log(`\n${"!".repeat(80)}\nFailed in the full run and passed alone. Fix these tests:`);
  for (const { file, tests } of unsteady) {
    const names = tests.length > 0 ? tests : ["(the file as a whole)"];
    for (const name of names) console.log(`unsteady: ${relative(ROOT, file)}: ${name}`);
  }
  console.log("!".repeat(80));
}

async function main(words) {
  const args = words.filter((word) => word !== "--once");
  if (args[0] === "--soak") {
    const files = findSoaks(ROOT, args.slice(1));
    if (files.length === 0) return ["no soak test in test/soak/"];
    // No retry: soak tests search for rare failures.
    return runTests(files, LIMITS.soak, { ...process.env, WINDHOVER_SOAK: "1" }, true);
  }
  const isOnce = args.length < words.length || process.env.WINDHOVER_TEST_ONCE === "1";
  const files = findTests(ROOT, args);
  if (files.length === 0) return ["no file matches *.test.ts"];
  if (args.length > 0) return runTests(files, LIMITS.test, process.env, isOnce);
  // In parallel: tests mostly wait.
  const [failedChecks, faults] = await Promise.all([
    runChecks(showLines),
    runTests(files, LIMITS.test, process.env, isOnce),
  ]);
  return [...failedChecks.map((title) => `check failed: ${title} (see the output above)`), ...faults];
}

/** Steps between lines of test output: without a spinner, one line when a step has ended. */
async function showLines(title, work) {
  const beganMs = performance.now();
  let mark = "✗";
  try {
    const result = await work(() => {});
    mark = "✓";
    return result;
  } finally {
    console.log(`${mark} ${title} ${((performance.now() - beganMs) / 1000).toFixed(1)} s`);
  }
}

endCommandsOnSignal();
const faults = await main(process.argv.slice(2)).catch((error) => [error.message]);
for (const fault of faults) console.error(`✗ ${fault}`);
if (faults.length > 0) process.exitCode = 1;
