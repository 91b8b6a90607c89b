/**
 * The models that come with Windhover, fetched and converted by its own command. What they were made of is stamped, so
 * that a changed card or converter is noticed; where the files lie is the command's business, and it says so.
 */
import { createHash } from "node:crypto";
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { CommandFailure, runCommand } from "./command.mjs";

/** Without it neither the tests nor the first graph that detects can run. */
const NEEDED = "default";
/** `aerial` first: it has the weights of the one before. */
const WANTED = ["aerial", "quality"];
/** Not detectors: without a card, by their names. */
const READERS = ["plates"];
const LIMIT_MS = 30 * 60_000;

const stampOf = (root) => join(root, "build/models.stamp");

export function areModelsThere(root) {
  const { made, files } = readStamp(root);
  return made === describe(root) && files.every(({ file, bytes }) => sizeOf(file) === bytes);
}

/** One that cannot be read, cut off by a full disk or a power cut, counts as none. */
function readStamp(root) {
  try {
    const { made, files } = JSON.parse(readFileSync(stampOf(root), "utf8"));
    return { made, files: [...files] };
  } catch {
    return { made: null, files: [] };
  }
}

/** On the disk before it has its name. */
function writeStamp(root, content) {
  const stamp = stampOf(root);
  const part = `${stamp}.${process.pid}`;
  mkdirSync(dirname(stamp), { recursive: true });
  try {
    const handle = openSync(part, "w");
    try {
      writeFileSync(handle, JSON.stringify(content));
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(part, stamp);
  } catch (error) {
    rmSync(part, { force: true });
    throw error;
  }
}

/** Returns what is to be said when only some could be had; throws when the one that is needed could not. */
export async function installModels(root, { onProgress }) {
  const files = await getModels(root, [cardOf(root, NEEDED)], onProgress);
  let note;
  try {
    const asked = [...WANTED.map((name) => cardOf(root, name)), ...READERS];
    files.push(...(await getModels(root, asked, onProgress)));
  } catch (error) {
    note = `${error.message}\nEverything else works without. To try again: npx windhover models get`;
  }
  writeStamp(root, { made: describe(root), files });
  return note;
}

/** By file: a model of the user may have taken the name. */
const cardOf = (root, name) => join(root, `models/cards/${name}.yaml`);

async function getModels(root, asked, onProgress) {
  const command = [join(root, "cli/windhover.mjs"), "models", "get", ...asked, "--json"];
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
