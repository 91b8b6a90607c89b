/** MOT Challenge sequences: one folder each, with `seqinfo.ini`, `gt.txt` and detections or results. */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { CommandFailure } from "../../../cli/command.ts";
import { readTextFile } from "../../../cli/files.ts";
import type { FrameBoxes } from "../metrics/compare.ts";

export interface SequenceFolder {
  readonly name: string;
  readonly folder: string;
  readonly truthFile: string;
  readonly frameCount: number;
  readonly frameRate: number;
}

const INFO = "seqinfo.ini";
/** The original layout has a folder gt. */
const TRUTH_FILES = ["gt.txt", join("gt", "gt.txt")];
/** Nine hours at 30 fps; all frames are kept in memory. */
export const MOST_FRAMES = 1_000_000;
const MOST_BYTES = 500_000_000;

/** Sorted by name. Throws `CommandFailure` if there is none, or a file is missing or invalid. */
export function listSequences(directory: string): readonly SequenceFolder[] {
  const names = readFolders(directory).filter((name) => existsSync(join(directory, name, INFO)));
  if (names.length > 0) return names.map((name) => readSequence(join(directory, name), name));
  const hint = existsSync(join(directory, INFO)) ? "; it is a sequence itself: give its parent folder" : "";
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
  const values = readValues(readTextFile(file, "expected a text file", MOST_BYTES));
  const frameCount = values.get("seqlength");
  const frameRate = values.get("framerate");
  const rate = Number(frameRate?.text);
  const count = Number(frameCount?.text);
  if (!(Number.isInteger(count) && count >= 1 && count <= MOST_FRAMES))
    throw new CommandFailure(describe(file, "seqLength", frameCount, `a whole number of frames, up to ${MOST_FRAMES}`));
  if (!(rate > 0 && Number.isFinite(rate)))
    throw new CommandFailure(describe(file, "frameRate", frameRate, "a number of frames per second above 0"));
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

/** A line of a file: `frame,id,left,top,width,height,confidence,…`. */
export interface MotRow {
  readonly line: number;
  /** From 1. */
  readonly frame: number;
  readonly id: number;
  /** Left, top, width, height in pixels. */
  readonly box: readonly [number, number, number, number];
  readonly confidence: number;
}

const COLUMNS = ["frame", "id", "left", "top", "width", "height", "confidence"];
const SHOWN_FAULTS = 5;

/** Throws `CommandFailure` with the invalid lines, as `file:line`. Frames are from 1 to `frameCount`. */
export function readRows(file: string, frameCount: number): readonly MotRow[] {
  const rows: MotRow[] = [];
  const faults: string[] = [];
  for (const [index, text] of readTextFile(file, "expected a text file", MOST_BYTES).split(/\r?\n/).entries()) {
    if (text.trim() === "") continue;
    const cells = text.split(",").map((cell) => cell.trim());
    const fault = findFault(cells, frameCount);
    if (fault !== undefined) faults.push(`${file}:${index + 1}: ${fault}`);
    else rows.push(makeRow(cells.map(Number), index + 1));
  }
  if (faults.length === 0) return rows;
  const more = faults.length > SHOWN_FAULTS ? [`… and ${faults.length - SHOWN_FAULTS} more lines of this file`] : [];
  throw new CommandFailure([...faults.slice(0, SHOWN_FAULTS), ...more].join("\n"));
}

/** The number of the last frame in the file. Throws `CommandFailure` as `readRows` does. */
export function findLastFrame(file: string): number {
  const { frame, line } = readRows(file, Number.POSITIVE_INFINITY).reduce(
    (last, row) => (row.frame > last.frame ? row : last),
    { frame: 0, line: 0 },
  );
  if (frame <= MOST_FRAMES) return frame;
  throw new CommandFailure(`${file}:${line}: frame is ${frame}; expected up to ${MOST_FRAMES}`);
}

function findFault(cells: readonly string[], frameCount: number): string | undefined {
  if (cells.length < COLUMNS.length)
    return `${cells.length} columns; expected at least ${COLUMNS.length}: ${COLUMNS.join(",")}`;
  const bad = COLUMNS.findIndex((_, column) => cells[column] === "" || !Number.isFinite(Number(cells[column])));
  if (bad !== -1) return `${COLUMNS[bad]} is "${cells[bad]}"; expected a number`;
  const [frame, id, , , width, height] = cells.map(Number) as [number, number, number, number, number, number];
  if (!Number.isInteger(frame) || frame < 1) return `frame is ${frame}; expected a whole number from 1`;
  if (frame > frameCount) return `frame is ${frame}; expected at most ${frameCount}, the length of the sequence`;
  if (!Number.isSafeInteger(id)) return `id is ${id}; expected a whole number`;
  if (width < 0 || height < 0) return `the box is ${width}×${height}; expected width and height of 0 or more`;
  return undefined;
}

function makeRow(numbers: readonly number[], line: number): MotRow {
  const [frame, id, left, top, width, height, confidence] = numbers as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  return { line, frame, id, box: [left, top, width, height], confidence };
}

/** Shared by all frames without rows, to save memory. */
const NO_ROWS: readonly never[] = [];
const NO_BOXES: FrameBoxes = { ids: [], boxes: new Float64Array(0) };

/** A list of rows per frame, in file order. */
export function groupByFrame<Row extends { readonly frame: number }>(
  rows: readonly Row[],
  frameCount: number,
): readonly (readonly Row[])[] {
  const frames = new Map<number, Row[]>();
  for (const row of rows) {
    const inFrame = frames.get(row.frame);
    if (inFrame === undefined) frames.set(row.frame, [row]);
    else inFrame.push(row);
  }
  return Array.from({ length: frameCount }, (_, index) => frames.get(index + 1) ?? NO_ROWS);
}

/**
 * The ground truth to score: rows with confidence 0 mark regions to ignore. Throws `CommandFailure` if no other rows are
 * left.
 */
export function readTruth(file: string, frameCount: number): readonly FrameBoxes[] {
  const rows = readRows(file, frameCount);
  const scored = rows.filter(({ confidence }) => confidence !== 0);
  if (scored.length > 0) return collect(file, scored, frameCount);
  const found = rows.length === 0 ? "it has no rows" : `all its ${rows.length} rows have confidence 0`;
  throw new CommandFailure(`${file} has nothing to score: ${found}; expected at least one with another confidence`);
}

/** Regions to ignore: objects that the annotators marked as hidden or doubtful. */
export const readUnscored = (file: string, frameCount: number): readonly FrameBoxes[] =>
  groupByFrame(
    readRows(file, frameCount).filter(({ confidence }) => confidence === 0),
    frameCount,
  ).map(toFrameBoxes);

/** The results of another tracker. */
export const readResults = (file: string, frameCount: number): readonly FrameBoxes[] =>
  collect(file, readRows(file, frameCount), frameCount);

function collect(file: string, rows: readonly MotRow[], frameCount: number): readonly FrameBoxes[] {
  return groupByFrame(rows, frameCount).map((inFrame) => {
    const lines = new Map<number, number>();
    for (const { id, frame, line } of inFrame) {
      const before = lines.get(id);
      if (before !== undefined)
        throw new CommandFailure(
          `${file}:${line}: id ${id} occurs twice in frame ${frame}, first in line ${before}; expected each id once per frame`,
        );
      lines.set(id, line);
    }
    return toFrameBoxes(inFrame);
  });
}

export const toFrameBoxes = (rows: readonly Pick<MotRow, "id" | "box">[]): FrameBoxes =>
  rows.length === 0
    ? NO_BOXES
    : { ids: rows.map(({ id }) => id), boxes: Float64Array.from(rows.flatMap(({ box }) => box)) };
