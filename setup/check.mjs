/**
 * What must hold before a test is worth running: style, types, and generated files as their sources would make them.
 *
 *   node setup/check.mjs
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { CommandFailure, endCommandsOnSignal, runCommand } from "./command.mjs";
import { showStep } from "./progress.mjs";

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

/** Runs all of them, shows what the failing ones said, and returns their titles. */
export async function runChecks() {
  const failed = [];
  for (const { title, command, mend } of CHECKS) {
    const [program, ...args] = command;
    try {
      await showStep(`check: ${title}`, () => runCommand(program, args, { cwd: ROOT, limitMs: 5 * 60_000 }));
    } catch (error) {
      if (!(error instanceof CommandFailure)) throw error;
      console.error([...error.lines, error.message, ...(mend ? [`  to mend it: ${mend}`] : [])].join("\n"));
      failed.push(title);
    }
  }
  return failed;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  endCommandsOnSignal();
  if ((await runChecks()).length > 0) process.exitCode = 1;
}
