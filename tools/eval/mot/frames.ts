/** Rows of a file put together frame by frame. */
import { CommandFailure } from "../../../cli/command.ts";
import type { FrameBoxes } from "../metrics/sequence.ts";
import { type MotRow, readRows } from "./rows.ts";

/** Shared by all frames without rows: a long sequence may be hardly anything else. */
const NO_ROWS: readonly never[] = [];
const NO_BOXES: FrameBoxes = { ids: [], boxes: new Float64Array(0) };

/** One list for each frame, in the order of the file. */
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
 * The ground truth that counts: rows whose seventh column is 0 are marks of what is not to be scored. Throws
 * `CommandFailure` where nothing is left, as scores against nothing mean nothing.
 */
export function readTruth(file: string, frameCount: number): readonly FrameBoxes[] {
  const rows = readRows(file, frameCount);
  const scored = rows.filter(({ confidence }) => confidence !== 0);
  if (scored.length > 0) return collect(file, scored, frameCount);
  const found = rows.length === 0 ? "it has no rows" : `all its ${rows.length} rows have confidence 0`;
  throw new CommandFailure(`${file} has nothing to score: ${found}; expected at least one with another confidence`);
}

/** Marks of what is not to be scored: there, but too hidden or too doubtful for its annotators to ask for it. */
export const readUnscored = (file: string, frameCount: number): readonly FrameBoxes[] =>
  groupByFrame(
    readRows(file, frameCount).filter(({ confidence }) => confidence === 0),
    frameCount,
  ).map(toFrameBoxes);

/** What a tracker made elsewhere has written. */
export const readResults = (file: string, frameCount: number): readonly FrameBoxes[] =>
  collect(file, readRows(file, frameCount), frameCount);

function collect(file: string, rows: readonly MotRow[], frameCount: number): readonly FrameBoxes[] {
  return groupByFrame(rows, frameCount).map((inFrame) => {
    const lines = new Map<number, number>();
    for (const { id, frame, line } of inFrame) {
      const before = lines.get(id);
      if (before !== undefined)
        throw new CommandFailure(
          `${file}:${line}: id ${id} is in frame ${frame} already, by line ${before}; expected an id once a frame`,
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
