/** Files of the MOT Challenge: `frame,id,left,top,width,height,confidence,…`, a box a line. */
import { readFileSync } from "node:fs";
import { CommandFailure } from "../../../cli/command.ts";
import { findNearFile } from "../../../cli/files.ts";

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

/** Throws `CommandFailure` with the lines that are wrong, as `file:line`. Frames are from 1 to `frameCount`. */
export function readRows(file: string, frameCount: number): readonly MotRow[] {
  const rows: MotRow[] = [];
  const faults: string[] = [];
  for (const [index, text] of readText(file).split(/\r?\n/).entries()) {
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

export function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code !== "ENOENT") throw new CommandFailure(`${file} cannot be read: ${message}`, { cause });
    const near = findNearFile(file);
    const hint = near === undefined ? "" : `; did you mean "${near}"?`;
    throw new CommandFailure(`there is no file ${file}${hint}`, { cause });
  }
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
