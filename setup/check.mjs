/**
 * What must hold before a test is worth running: style, types, and generated files as their sources would make them.
 *
 *   node setup/check.mjs
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandFailure, endCommandsOnSignal, runCommand } from "./command.mjs";
import { showSteps } from "./progress.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const bin = (name) => join(ROOT, "node_modules/.bin", name);

const CHECKS = [
  { title: "style", command: [bin("biome"), "check", "."], mend: "npx biome check --write ." },
  { title: "types", command: [bin("tsc"), "--noEmit"] },
  { title: "types of the console", command: [bin("tsc"), "--noEmit", "--project", "console"] },
  {
    title: "generated files",
    command: [process.execPath, "--import", "tsx", "schemas/publish.ts", "--check"],
    mend: "npm run generate",
  },
];

/** Runs all of them as `showSteps` lets it, shows what the failing ones said, and returns their titles. */
export async function runChecks(show) {
  const failed = [];
  const run = async ({ title, command: [program, ...args], mend }) => {
    try {
      await show(`check: ${title}`, () => runCommand(program, args, { cwd: ROOT, limitMs: 5 * 60_000 }));
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      console.error([...error.lines, error.message, ...(mend ? [`  to mend it: ${mend}`] : [])].join("\n"));
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
