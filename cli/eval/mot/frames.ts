/** Rows of a file put together frame by frame. */
import { CommandFailure } from "../../command.ts";
import type { FrameBoxes } from "../metrics/sequence.ts";
import { type MotRow, readRows } from "./rows.ts";

/** One list for each frame, in the order of the file. */
export function groupByFrame<Row extends { readonly frame: number }>(
  rows: readonly Row[],
  frameCount: number,
): readonly (readonly Row[])[] {
  const frames: Row[][] = Array.from({ length: frameCount }, () => []);
  for (const row of rows) frames[row.frame - 1]?.push(row);
  return frames;
}

/** The ground truth that counts: rows whose seventh column is 0 are marks of what is not to be scored. */
export const readTruth = (file: string, frameCount: number): readonly FrameBoxes[] =>
  collect(
    file,
    readRows(file, frameCount).filter(({ confidence }) => confidence !== 0),
    frameCount,
  );

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

export const toFrameBoxes = (rows: readonly Pick<MotRow, "id" | "box">[]): FrameBoxes => ({
  ids: rows.map(({ id }) => id),
  boxes: Float64Array.from(rows.flatMap(({ box }) => box)),
});
