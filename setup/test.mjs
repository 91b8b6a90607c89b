/**
 * Runs the tests. Node is given the list of files: given a folder, Node 20 runs nothing and calls it a success.
 *
 *   node setup/test.mjs                  checks, then every test of the project
 *   node setup/test.mjs PATH…            only the tests in these files and folders
 *   node setup/test.mjs --soak [NAME…]   the long versions in test/soak/, all or some
 *   node setup/test.mjs --once …         what fails is not tried again; WINDHOVER_TEST_ONCE=1 says the same
 *
 * WINDHOVER_TEST_PATIENCE multiplies the time limits, for processors that are emulated.
 */
import { mkdtempSync, rmSync } from "node:fs";
import { availableParallelism, tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleTests } from "./bundle-tests.mjs";
import { runChecks } from "./check.mjs";
import { CommandFailure, endCommandsOnSignal, runCommand } from "./command.mjs";
import { findSoaks, findTests } from "./find-tests.mjs";
import { showSteps } from "./progress.mjs";
import { readEvents } from "./test-events.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MINUTE_MS = 60_000;
const SHOWN_FILES = 20;
/** Emulated processors are many times slower. */
const PATIENCE = Number(process.env.WINDHOVER_TEST_PATIENCE ?? 1);

/** A file that takes longer is ended by Node and named in its report; the total is for when even that does not help. */
const LIMITS = {
  // One more than there are processors: tests wait nearly as long as they compute.
  test: {
    fileMs: 5 * MINUTE_MS * PATIENCE,
    totalMs: 20 * MINUTE_MS * PATIENCE,
    concurrency: Math.min(availableParallelism() + 1, 4),
  },
  soak: { fileMs: 60 * MINUTE_MS, totalMs: 240 * MINUTE_MS, concurrency: 1 },
};

/**
 * Machines are shared and noisy. A real fault fails twice; a test that fails once in a while must be seen and mended, and
 * neither hidden nor in the way of everybody else. Many that fail are no noise.
 */
const MOST_AGAIN = 3;

/** Where to look when the tests take too long. */
function showSlowest(slowest) {
  console.log("the slowest files, in seconds:");
  for (const { files, ms } of slowest.slice(0, SHOWN_FILES)) {
    const others = files.length > 1 ? ` and ${files.length - 1} others, together` : "";
    console.log(`${(ms / 1000).toFixed(1).padStart(7)}  ${relative(ROOT, files[0])}${others}`);
  }
}

/** @returns {Promise<string[]>} what is wrong, in sentences; none when all is well */
async function runTests(files, limits, environment, isOnce) {
  const { runs, alone, children } = await bundleTests(files);
  // Tests that load onnxruntime by themselves must not report to its makers either.
  const env = { ...environment, ORT_DISABLE_TELEMETRY: "1", TEST_CHILDREN: children };
  const first = await runFiles(runs, limits, env);
  if (files.length > SHOWN_FILES) showSlowest(first.slowest);
  const { failed } = first;
  if (isOnce || !first.mayRunAgain || failed.length === 0 || failed.length > MOST_AGAIN) return first.faults;
  console.log(`\nonce more, and alone: ${failed.map(({ file }) => relative(ROOT, file)).join(", ")}`);
  const again = new Map(failed.map(({ file }) => [alone.get(file), [file]]));
  const second = await runFiles(again, { ...limits, concurrency: 1 }, env);
  showUnsteady(failed.filter(({ file }) => !second.failed.some((other) => other.file === file)));
  return [...first.faults.filter((fault) => fault !== FAILED), ...second.faults];
}

const FAILED = "tests failed";

/** @returns the faults in sentences; `mayRunAgain` when tests failed in a run that came to its end */
async function runFiles(runs, limits, env) {
  const folder = mkdtempSync(join(tmpdir(), "windhover-test-"));
  const events = join(folder, "events.ndjson");
  const args = [
    ...[
      "--enable-source-maps",
      "--test",
      `--test-concurrency=${limits.concurrency}`,
      `--test-timeout=${limits.fileMs}`,
    ],
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./setup/test-events.mjs", `--test-reporter-destination=${events}`],
    ...runs.keys(),
  ];
  const faults = [];
  try {
    await runCommand(process.execPath, args, { cwd: ROOT, env, limitMs: limits.totalMs, show: true }).catch((error) => {
      if (!(error instanceof CommandFailure)) throw error;
      faults.push(error.late ? `the tests took longer than ${limits.totalMs / MINUTE_MS} minutes` : FAILED);
    });
    const { executed, slowest, silent, running, failed } = readEvents(events, runs, ROOT);
    if (executed === 0 && faults.length === 0) faults.push("not one test was executed");
    for (const file of silent) faults.push(`${relative(ROOT, file)} holds no test`);
    for (const test of running) faults.push(`still running when it was ended: ${relative(ROOT, test)}`);
    return { faults, slowest, failed, mayRunAgain: faults.includes(FAILED) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function showUnsteady(unsteady) {
  if (unsteady.length === 0) return;
  console.log(`\n${"!".repeat(80)}\nFailed among the others and passed alone. Such a test is to be mended:`);
  for (const { file, tests } of unsteady) {
    const names = tests.length > 0 ? tests : ["(the file as a whole)"];
    for (const name of names) console.log(`unsteady: ${relative(ROOT, file)}: ${name}`);
  }
  console.log("!".repeat(80));
}

/** Says why when there are none; the tests that need one are skipped then. */
async function fetchClips(show) {
  const args = ["--import", "tsx", "test/fetch-clips.ts"];
  try {
    await show("test clips", () => runCommand(process.execPath, args, { cwd: ROOT }));
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    console.log(`${error.lines.join("\n")}\nTests that need it are skipped.`);
  }
}

async function main(words) {
  const args = words.filter((word) => word !== "--once");
  if (args[0] === "--soak") {
    const files = findSoaks(ROOT, args.slice(1));
    if (files.length === 0) return ["there is no soak test in test/soak/"];
    // What they look for is rare: to try again would be to look away.
    return runTests(files, LIMITS.soak, { ...process.env, WINDHOVER_SOAK: "1" }, true);
  }
  const isOnce = args.length < words.length || process.env.WINDHOVER_TEST_ONCE === "1";
  const files = findTests(ROOT, args);
  if (files.length === 0) return ["no file named *.test.ts was found"];
  const prepare = (show) => Promise.all([runChecks(show), fetchClips(show)]);
  const [failedChecks] = args.length === 0 ? await showSteps(prepare) : [[]];
  const faults = await runTests(files, LIMITS.test, process.env, isOnce);
  return [...failedChecks.map((title) => `check failed: ${title} (see above the tests)`), ...faults];
}

endCommandsOnSignal();
const faults = await main(process.argv.slice(2)).catch((error) => [error.message]);
for (const fault of faults) console.error(`✗ ${fault}`);
if (faults.length > 0) process.exitCode = 1;
