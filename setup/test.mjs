/**
 * Runs the tests. Node is given the list of files: given a folder, Node 20 runs nothing and calls it a success.
 *
 *   node setup/test.mjs                  checks, then every test of the project
 *   node setup/test.mjs PATH…            only the tests in these files and folders
 *   node setup/test.mjs --soak [NAME…]   the long versions in test/soak/, all or some
 */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { bundleTests } from "./bundle-tests.mjs";
import { runChecks } from "./check.mjs";
import { CommandFailure, endCommandsOnSignal, runCommand } from "./command.mjs";
import { findSoaks, findTests } from "./find-tests.mjs";
import { showStep } from "./progress.mjs";
import { readEvents } from "./test-events.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const MINUTE_MS = 60_000;
const SHOWN_FILES = 20;

/** A file that takes longer is ended by Node and named in its report; the total is for when even that does not help. */
const LIMITS = {
  test: { fileMs: 5 * MINUTE_MS, totalMs: 20 * MINUTE_MS, concurrency: 2 },
  soak: { fileMs: 60 * MINUTE_MS, totalMs: 240 * MINUTE_MS, concurrency: 1 },
};

/** Where to look when the tests take too long. */
function showSlowest(slowest) {
  console.log("the slowest files, in seconds:");
  for (const { file, ms } of slowest.slice(0, SHOWN_FILES))
    console.log(`${(ms / 1000).toFixed(1).padStart(7)}  ${relative(ROOT, file)}`);
}

/** @returns {Promise<string[]>} what is wrong, in sentences; none when all is well */
async function runTests(files, limits, environment) {
  // Tests that load onnxruntime by themselves must not report to its makers either.
  const env = { ...environment, ORT_DISABLE_TELEMETRY: "1" };
  const folder = mkdtempSync(join(tmpdir(), "windhover-test-"));
  const events = join(folder, "events.ndjson");
  const bundled = await bundleTests(files);
  const args = [
    ...[
      "--enable-source-maps",
      "--test",
      `--test-concurrency=${limits.concurrency}`,
      `--test-timeout=${limits.fileMs}`,
    ],
    ...["--test-reporter=spec", "--test-reporter-destination=stdout"],
    ...["--test-reporter=./setup/test-events.mjs", `--test-reporter-destination=${events}`],
    ...bundled.keys(),
  ];
  const faults = [];
  try {
    await runCommand(process.execPath, args, { cwd: ROOT, env, limitMs: limits.totalMs, show: true }).catch((error) => {
      if (!(error instanceof CommandFailure)) throw error;
      faults.push(error.late ? `the tests took longer than ${limits.totalMs / MINUTE_MS} minutes` : "tests failed");
    });
    const { executed, slowest, silent, running } = readEvents(events, bundled, ROOT);
    if (files.length > SHOWN_FILES) showSlowest(slowest);
    if (executed === 0) faults.push("not one test was executed");
    for (const file of silent) faults.push(`${relative(ROOT, file)} holds no test`);
    for (const test of running) faults.push(`still running when it was ended: ${relative(ROOT, test)}`);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  return faults;
}

/** Says why when there are none; the tests that need one are skipped then. */
async function fetchClips() {
  const args = ["--import", "tsx", "test/fetch-clips.ts"];
  try {
    await showStep("test clips", () => runCommand(process.execPath, args, { cwd: ROOT }));
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    console.log(`${error.lines.join("\n")}\nTests that need it are skipped.`);
  }
}

async function main(args) {
  if (args[0] === "--soak") {
    const files = findSoaks(ROOT, args.slice(1));
    if (files.length === 0) return ["there is no soak test in test/soak/"];
    return runTests(files, LIMITS.soak, { ...process.env, WINDHOVER_SOAK: "1" });
  }
  const files = findTests(ROOT, args);
  if (files.length === 0) return ["no file named *.test.ts was found"];
  const failedChecks = args.length === 0 ? await runChecks() : [];
  if (args.length === 0) await fetchClips();
  const faults = await runTests(files, LIMITS.test, process.env);
  return [...failedChecks.map((title) => `check failed: ${title} (see above the tests)`), ...faults];
}

endCommandsOnSignal();
const faults = await main(process.argv.slice(2)).catch((error) => [error.message]);
for (const fault of faults) console.error(`✗ ${fault}`);
if (faults.length > 0) process.exitCode = 1;
