/** A folder of sequences as the MOT Challenge has them: one folder each, with `seqinfo.ini` and `gt.txt`. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CommandFailure } from "../../../cli/command.ts";
import { readText } from "./rows.ts";

export interface SequenceFolder {
  readonly name: string;
  readonly folder: string;
  readonly truthFile: string;
  readonly frameCount: number;
  readonly frameRate: number;
}

const INFO = "seqinfo.ini";
/** As it is unpacked, and with the ground truth taken out of its folder. */
const TRUTH_FILES = ["gt.txt", join("gt", "gt.txt")];
/** Nine hours at 30 a second: every frame is kept in memory. */
export const MOST_FRAMES = 1_000_000;

/** By name. Throws `CommandFailure` where there is none, or one lacks what it needs. */
export function listSequences(directory: string): readonly SequenceFolder[] {
  const names = readFolders(directory).filter((name) => existsSync(join(directory, name, INFO)));
  if (names.length > 0) return names.map((name) => readSequence(join(directory, name), name));
  const hint = existsSync(join(directory, INFO)) ? "; it is a sequence itself: give the folder above it" : "";
  throw new CommandFailure(
    `${directory} has no sequences: expected a folder for each, with ${INFO} and ${TRUTH_FILES[0]}${hint}`,
  );
}

function readFolders(directory: string): readonly string[] {
  try {
    return readdirSync(directory, { withFileTypes: true })
      .filter((entry) => !entry.isFile() && !entry.name.startsWith("."))
      .map(({ name }) => name)
      .sort();
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code === "ENOENT") throw new CommandFailure(`there is no folder ${directory}`, { cause });
    if (code === "ENOTDIR") throw new CommandFailure(`${directory} is a file; expected a folder`, { cause });
    throw new CommandFailure(`${directory} cannot be read: ${message}`, { cause });
  }
}

function readSequence(folder: string, name: string): SequenceFolder {
  const truthFile = TRUTH_FILES.map((file) => join(folder, file)).find((file) => existsSync(file));
  if (truthFile === undefined)
    throw new CommandFailure(`${folder} has no ground truth: expected ${TRUTH_FILES.join(" or ")}`);
  const file = join(folder, INFO);
  const values = readValues(readText(file));
  const frameCount = values.get("seqlength");
  const frameRate = values.get("framerate");
  const rate = Number(frameRate?.text);
  const count = Number(frameCount?.text);
  if (!(Number.isInteger(count) && count >= 1 && count <= MOST_FRAMES))
    throw new CommandFailure(
      describe(file, "seqLength", frameCount, `a whole number of frames, at most ${MOST_FRAMES}`),
    );
  if (!(rate > 0 && Number.isFinite(rate)))
    throw new CommandFailure(describe(file, "frameRate", frameRate, "frames a second, above 0"));
  return { name, folder, truthFile, frameCount: count, frameRate: rate };
}

interface Value {
  readonly text: string;
  readonly line: number;
}

function readValues(text: string): ReadonlyMap<string, Value> {
  const values = new Map<string, Value>();
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const found = /^([A-Za-z]+)\s*=(.*)$/.exec(line.trim());
    if (found !== null) values.set((found[1] ?? "").toLowerCase(), { text: (found[2] ?? "").trim(), line: index + 1 });
  }
  return values;
}

const describe = (file: string, key: string, value: Value | undefined, expected: string): string =>
  value === undefined
    ? `${file} has no ${key}; expected ${key}=, ${expected}`
    : `${file}:${value.line}: ${key} is "${value.text}"; expected ${expected}`;
