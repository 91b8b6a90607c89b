/** Ground truth of a clip in MOT format, and the scores of a run against it. */

import { scoreClip } from "../eval/clip/score-clip.ts";
import type { FrameBoxes } from "../eval/metrics/compare.ts";
import { findLastFrame, readTruth, readUnscored } from "../eval/mot/sequences.ts";
import type { GraphRun } from "./watched-graph.ts";

export interface Truth {
  readonly className: string;
  readonly frames: readonly FrameBoxes[];
  /** Objects that count neither way. */
  readonly unscored: readonly FrameBoxes[];
}

/** Shares are from 0 to 1. */
export interface TruthScores {
  readonly ap: number;
  readonly hota: number;
  readonly idf1: number;
  readonly switches: number;
}

/** Throws `CommandFailure` with the position of the first faults. */
export function readTruthFile(file: string, className: string): Truth {
  const count = findLastFrame(file);
  return { className, frames: readTruth(file, count), unscored: readUnscored(file, count) };
}

/**
 * Frame n of the truth is frame n of the clip; frames after its last one are not scored, nor are frames of the truth
 * after the last one of a run that was limited to `limit` frames.
 */
export function scoreRun({ frames }: GraphRun, truth: Truth, limit: number | null): TruthScores {
  const length = Math.min(truth.frames.length, limit ?? Number.POSITIVE_INFINITY);
  const { ap50, tracking } = scoreClip(
    "clip",
    truth.frames.slice(0, length),
    frames.slice(0, length),
    truth.className,
    truth.unscored.slice(0, length),
  );
  const { hota, idf1, switches } = tracking;
  return { ap: ap50, hota, idf1, switches };
}
