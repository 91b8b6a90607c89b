/** Detections of a sequence through a tracker, at the times its frames have. */
import type { MotTracker } from "../../../elements/track/mot-tracker.ts";
import { groupByFrame } from "./frames.ts";
import { type ResultRow, roundRow } from "./results.ts";
import { type MotRow, readRows } from "./rows.ts";

export interface TrackedSequence {
  readonly rows: readonly ResultRow[];
  /** In the tracker alone. */
  readonly elapsedMs: number;
  /** Detections without area: nothing that could be tracked. */
  readonly leftOut: number;
}

/** The detections of each frame; throws `CommandFailure` for a file that is not as it should be. */
export function trackSequence(
  tracker: MotTracker,
  file: string,
  { frameCount, frameRate }: { readonly frameCount: number; readonly frameRate: number },
): TrackedSequence {
  const read = readRows(file, frameCount);
  const usable = read.filter(({ box: [, , width, height] }) => width > 0 && height > 0);
  const inputs = groupByFrame(usable, frameCount).map((rows) => rows.map(toDetection));
  const begunMs = performance.now();
  const outputs = inputs.map((detections, index) => tracker.update(timeOf(index, frameRate), detections));
  const elapsedMs = performance.now() - begunMs;
  const rows = outputs.flatMap((tracks, index) =>
    tracks.map(({ id, box, confidence }) => roundRow({ frame: index + 1, id, box, confidence })),
  );
  return { rows, elapsedMs, leftOut: read.length - usable.length };
}

const toDetection = ({ box, confidence }: MotRow) => ({
  box: [...box] as [number, number, number, number],
  confidence,
  classId: 0,
});

const timeOf = (index: number, frameRate: number): bigint => BigInt(Math.round((index * 1e9) / frameRate));
