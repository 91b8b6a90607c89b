/** Detections of a sequence through a tracker, at the times its frames have. */
import type { MotTracker, Sighting, TrackedBox } from "../../../elements/track/mot-tracker.ts";
import { groupByFrame } from "./frames.ts";
import { type ResultRow, roundRow } from "./results.ts";
import { type MotRow, readRows } from "./rows.ts";

export interface TrackedSequence {
  readonly rows: readonly ResultRow[];
  /** Detections without area: nothing that could be tracked. */
  readonly leftOut: number;
  /** Tracks the same once more, for the time alone, and returns how long the tracker took. */
  timeAgainMs(): number;
}

/** The detections of each frame, by a tracker of their own; throws `CommandFailure` for a file that is not as it should be. */
export function trackSequence(
  createTracker: () => MotTracker,
  file: string,
  { frameCount, frameRate }: { readonly frameCount: number; readonly frameRate: number },
): TrackedSequence {
  const read = readRows(file, frameCount);
  const usable = read.filter(({ box: [, , width, height] }) => width > 0 && height > 0);
  const inputs = groupByFrame(usable, frameCount).map((rows) => (rows.length === 0 ? NOTHING : rows.map(toSighting)));
  const track = (): readonly (readonly TrackedBox[])[] => {
    const tracker = createTracker();
    return inputs.map((detections, index) => tracker.update(timeOf(index, frameRate), detections));
  };
  const rows = track().flatMap((tracks, index) =>
    tracks.map(({ id, box, confidence }) => roundRow({ frame: index + 1, id, box, confidence })),
  );
  const timeAgainMs = (): number => {
    const begunMs = performance.now();
    track();
    return performance.now() - begunMs;
  };
  return { rows, leftOut: read.length - usable.length, timeAgainMs };
}

const NOTHING: readonly Sighting[] = [];

const toSighting = ({ box, confidence }: MotRow): Sighting => ({ box, confidence, classId: 0 });

const timeOf = (index: number, frameRate: number): bigint => BigInt(Math.round((index * 1e9) / frameRate));
