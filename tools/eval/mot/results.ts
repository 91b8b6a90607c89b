/** Results of tracking as the MOT Challenge takes them. */
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { CommandFailure } from "../../../cli/command.ts";
import type { MotRow } from "./rows.ts";

export type ResultRow = Pick<MotRow, "frame" | "id" | "box" | "confidence">;

/** Rounded as they are written, before they are scored: the file gives the very same scores. */
export function roundRow({ frame, id, box, confidence }: ResultRow): ResultRow {
  const [left, top, width, height] = box;
  return { frame, id, box: [round(left), round(top), round(width), round(height)], confidence: round(confidence) };
}

const round = (value: number): number => Math.round(value * 1e4) / 1e4;

export const formatRows = (rows: readonly ResultRow[]): string =>
  rows.map(({ frame, id, box, confidence }) => `${[frame, id, ...box, confidence, -1, -1, -1].join(",")}\n`).join("");

/** Makes the folder if need be; throws `CommandFailure` where it cannot. */
export function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new CommandFailure(`--out ${folder}: the folder cannot be made: ${(cause as Error).message}`, { cause });
  }
}

/** Puts `SEQUENCE.txt` into the folder, whole or not at all. */
export function writeResults(folder: string, sequence: string, rows: readonly ResultRow[]): void {
  const file = join(folder, `${sequence}.txt`);
  const unfinished = `${file}.part`;
  try {
    writeFileSync(unfinished, formatRows(rows));
    renameSync(unfinished, file);
  } catch (cause) {
    rmSync(unfinished, { force: true });
    throw new CommandFailure(`${file} cannot be written: ${(cause as Error).message}`, { cause });
  }
}
