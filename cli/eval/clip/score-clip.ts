/** What a graph found on a clip, against the ground truth. */
import type { Box } from "../../../schemas/detections.ts";
import { averagePrecision, type Picture } from "../metrics/average-precision.ts";
import { type SequenceScores, scoreMot } from "../metrics/score-mot.ts";
import type { FrameBoxes } from "../metrics/sequence.ts";
import { toFrameBoxes } from "../mot/frames.ts";
import type { WatchedFrame } from "./watch.ts";

export interface ClipScores {
  /** From 0 to 1. */
  readonly ap50: number;
  readonly tracking: SequenceScores;
}

const NOTHING: WatchedFrame = { width: 0, height: 0, detections: [], tracks: [] };

/** Frame n of the truth is frame n of the clip. Frames that the clip does not have count as frames without results. */
export function scoreClip(
  name: string,
  truth: readonly FrameBoxes[],
  frames: readonly WatchedFrame[],
  className: string,
): ClipScores {
  const length = Math.max(truth.length, frames.length);
  const truly = Array.from({ length }, (_, index) => truth[index] ?? toFrameBoxes([]));
  const watched = Array.from({ length }, (_, index) => frames[index] ?? NOTHING);
  const results = watched.map(({ tracks, ...size }) =>
    toFrameBoxes(
      tracks.filter((track) => track.className === className).map(({ id, box }) => ({ id, box: toPixels(box, size) })),
    ),
  );
  const pictures = watched.map(({ detections, ...size }, index): Picture => {
    const ofClass = detections.filter((detection) => detection.className === className);
    return {
      truth: listBoxes(truly[index] as FrameBoxes),
      found: ofClass.map(({ box, confidence }) => ({ box: toPixels(box, size), score: confidence })),
    };
  });
  const [tracking] = scoreMot([{ name, truth: truly, results }]).sequences;
  return { ap50: averagePrecision(pictures, 0.5), tracking: tracking as SequenceScores };
}

const toPixels = (
  [left, top, width, height]: Box,
  frame: { readonly width: number; readonly height: number },
): [number, number, number, number] => [
  left * frame.width,
  top * frame.height,
  width * frame.width,
  height * frame.height,
];

const listBoxes = ({ ids, boxes }: FrameBoxes): readonly (readonly number[])[] =>
  ids.map((_, index) => [...boxes.subarray(index * 4, index * 4 + 4)]);
