/**
 * The models that come with Windhover, fetched and converted by its own command. What they were made of is stamped, so
 * that a changed card or converter is noticed; where the files lie is the command's business, and it says so.
 */
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CommandFailure, runCommand } from "./command.mjs";

/** Without it neither the tests nor the first graph that detects can run. */
const NEEDED = "default";
/** `aerial` first: it has the weights of the one before. */
const WANTED = ["aerial", "quality"];
const LIMIT_MS = 30 * 60_000;

const stampOf = (root) => join(root, "build/models.stamp");

export function areModelsThere(root) {
  const stamp = stampOf(root);
  if (!existsSync(stamp)) return false;
  const { made, files } = JSON.parse(readFileSync(stamp, "utf8"));
  return made === describe(root) && files.every(({ file, bytes }) => sizeOf(file) === bytes);
}

/** Returns what is to be said when only some could be had; throws when the one that is needed could not. */
export async function installModels(root, { onProgress }) {
  const files = await getModels(root, [NEEDED], onProgress);
  let note;
  try {
    files.push(...(await getModels(root, WANTED, onProgress)));
  } catch (error) {
    note = `${error.message}\nEverything else works without. To try again: npx windhover models get ${WANTED.join(" ")}`;
  }
  const stamp = stampOf(root);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(`${stamp}.${process.pid}`, JSON.stringify({ made: describe(root), files }));
  renameSync(`${stamp}.${process.pid}`, stamp);
  return note;
}

async function getModels(root, names, onProgress) {
  const command = [join(root, "cli/windhover.mjs"), "models", "get", ...names, "--json"];
  const onLine = (line) => {
    const { type, text } = readEvent(line);
    if (type === "progress") onProgress(text);
  };
  try {
    const output = await runCommand(process.execPath, command, { cwd: root, limitMs: LIMIT_MS, onLine });
    return JSON.parse(
      output
        .split("\n")
        .filter((line) => readEvent(line).type === undefined)
        .join("\n"),
    );
  } catch (error) {
    if (!(error instanceof CommandFailure)) throw error;
    const told = error.lines.map(readEvent).find(({ type }) => type === "error");
    throw told === undefined ? error : new Error(told.message);
  }
}

/** Events are lines of JSON among the lines of the result. */
function readEvent(line) {
  return line.startsWith('{"type":') ? JSON.parse(line) : {};
}

/** Everything that decides what is installed and where. */
function describe(root) {
  const hash = createHash("sha256");
  const folder = join(root, "models");
  const names = readdirSync(folder, { recursive: true, encoding: "utf8" });
  for (const name of names.filter((name) => /\.(ts|yaml)$/.test(name) && !name.endsWith(".test.ts")).sort())
    hash.update(`${name}\n`).update(readFileSync(join(folder, name)));
  const { WINDHOVER_CACHE_DIR, XDG_CACHE_HOME, HOME } = process.env;
  return hash.update(JSON.stringify([WINDHOVER_CACHE_DIR, XDG_CACHE_HOME, HOME, process.getuid?.()])).digest("hex");
}

const sizeOf = (file) => statSync(file, { throwIfNoEntry: false })?.size;
