import { createHash } from "node:crypto";
import { chmodSync, readFileSync, readlinkSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runCommand } from "./command.mjs";

/** Inside node_modules, so that it is removed with them. Written last: an interrupted installation is repeated. */
const stampOf = (root) => join(root, "node_modules/.windhover-stamp");

export function areModulesFresh(root) {
  return readOr(null, () => readFileSync(stampOf(root), "utf8")) === describeModules(root);
}

export async function installModules(root, { onProgress }) {
  onProgress("npm ci");
  const description = describeModules(root);
  // Under `npm test` this is the running npm, which need not be the first in the PATH.
  const cli = process.env.npm_execpath?.endsWith("npm-cli.js") ? process.env.npm_execpath : null;
  const [program, ...before] = cli === null ? ["npm"] : [process.execPath, cli];
  // Install scripts are disabled, and no package needs them: esbuild's would replace a small script by its binary,
  // onnxruntime-node's would download CUDA, @scarf/scarf's would report the installation.
  const options = ["--include=dev", "--ignore-scripts", "--no-audit", "--no-fund", "--no-progress"];
  await runCommand(program, [...before, "ci", ...options], { cwd: root });
  writeFileSync(stampOf(root), description);
}

const describeModules = (root) => {
  const lock = createHash("sha256")
    .update(readFileSync(join(root, "package-lock.json")))
    .digest("hex");
  return `${lock} ${process.platform} ${process.arch}\n`;
};

/** npm only links the commands of dependencies; this link makes `npx windhover` work inside the checkout. */
const COMMAND = "cli/windhover.mjs";
const linkOf = (root) => join(root, "node_modules/.bin/windhover");

export function isCommandLinked(root) {
  const target = readOr(null, () => readlinkSync(linkOf(root)));
  return target === `../../${COMMAND}` && isExecutable(join(root, COMMAND));
}

export function linkCommand(root) {
  rmSync(linkOf(root), { force: true });
  symlinkSync(`../../${COMMAND}`, linkOf(root));
  if (!isExecutable(join(root, COMMAND))) chmodSync(join(root, COMMAND), 0o755);
}

const isExecutable = (file) => readOr(true, () => (statSync(file).mode & 0o100) !== 0);

function readOr(fallback, read) {
  try {
    return read();
  } catch (error) {
    if (error.code === "ENOENT") return fallback;
    throw error;
  }
}
