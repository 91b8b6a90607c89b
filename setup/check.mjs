/**
 * Checks style, types, and that generated files are up to date.
 *
 *   node setup/check.mjs
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandFailure, endCommandsOnSignal, runCommand } from "./command.mjs";
import { showSteps } from "./progress.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const bin = (name) => join(ROOT, "node_modules/.bin", name);

/** Each of several checkers works out the same types again: the usual four take twice the processor time of one. */
const ONE_CHECKER = ["--checkers", "1"];
/** The type checker is a Go program, and ends before its garbage matters. */
const ENV = { ...process.env, GOGC: "400" };
/** Files that did not change, and import none that did, are not checked again. */
const keepIn = (name) => ["--incremental", "--tsBuildInfoFile", join(ROOT, "build", `${name}.tsbuildinfo`)];

const CHECKS = [
  { title: "style", command: [bin("biome"), "check", "."], fix: "npx biome check --write ." },
  { title: "types", command: [bin("tsc"), "--noEmit", ...ONE_CHECKER, ...keepIn("types")] },
  {
    title: "types of the console",
    command: [bin("tsc"), "--noEmit", ...ONE_CHECKER, ...keepIn("console-types"), "--project", "console"],
  },
  {
    title: "generated files",
    command: [process.execPath, "--import", "tsx", "schemas/publish.ts", "--check"],
    fix: "npm run generate",
  },
];

/** Runs all checks inside `showSteps`, prints the output of the failing ones and returns their titles. */
export async function runChecks(show) {
  const failed = [];
  const run = async ({ title, command: [program, ...args], fix }) => {
    try {
      await show(`check: ${title}`, () => runCommand(program, args, { cwd: ROOT, limitMs: 5 * 60_000, env: ENV }));
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      console.error([...error.lines, error.message, ...(fix ? [`  to fix it: ${fix}`] : [])].join("\n"));
      failed.push(title);
    }
  };
  await Promise.all(CHECKS.map(run));
  return failed;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  endCommandsOnSignal();
  if ((await showSteps(runChecks)).length > 0) process.exitCode = 1;
}
