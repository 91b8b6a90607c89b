/**
 * Downloads and converts the built-in models with `windhover models get`, which prints the paths of the files. A stamp
 * file describes the inputs, so that a changed card or converter is detected.
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

/** Required by the tests and by every graph that detects. */
const REQUIRED = "default";
/** `aerial` first: it shares the weights of the required one. */
const OPTIONAL = ["aerial", "quality"];
/** No detectors: these have no card and are requested by name. */
const READERS = ["plates"];
const LIMIT_MS = 30 * 60_000;

const stampOf = (root) => join(root, "build/models.stamp");

export function areModelsInstalled(root) {
  const { made, files } = readStamp(root);
  return made === describe(root) && files.every(({ file, bytes }) => sizeOf(file) === bytes);
}

/** A damaged stamp (full disk, power cut) counts as missing. */
function readStamp(root) {
  try {
    const { made, files } = JSON.parse(readFileSync(stampOf(root), "utf8"));
    return { made, files: [...files] };
  } catch {
    return { made: null, files: [] };
  }
}

/** Syncs the content to disk before renaming it into place. */
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

/** Returns a warning when an optional model is unavailable; throws when the required one is. */
export async function installModels(root, { onProgress }) {
  const files = await getModels(root, [cardOf(root, REQUIRED)], onProgress);
  let note;
  try {
    const requested = [...OPTIONAL.map((name) => cardOf(root, name)), ...READERS];
    files.push(...(await getModels(root, requested, onProgress)));
  } catch (error) {
    note = `${error.message}\nEverything else works without it. To retry: npx windhover models get`;
  }
  writeStamp(root, { made: describe(root), files });
  return note;
}

/** The path of the card: a model of the user may have the same name. */
const cardOf = (root, name) => join(root, `models/cards/${name}.yaml`);

async function getModels(root, requested, onProgress) {
  const command = [join(root, "cli/windhover.mjs"), "models", "get", ...requested, "--json"];
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
    const event = error.lines.map(readEvent).find(({ type }) => type === "error");
    throw event === undefined ? error : new Error(event.message);
  }
}

/** Events are single lines of JSON between the lines of the result. */
function readEvent(line) {
  return line.startsWith('{"type":') ? JSON.parse(line) : {};
}

/** Hash of everything that determines which models are installed, and where. */
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
