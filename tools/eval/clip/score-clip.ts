/** Scores the detections and tracks of a clip against ground truth. */
import type { Box } from "../../../schemas/detections.ts";
import type { PixelBox, TrueObject } from "../coco/dataset.ts";
import { type AreaRange, drawPrecision, type FoundObject, matchPicture, mean } from "../coco/match.ts";
import type { FrameBoxes } from "../metrics/compare.ts";
import { type SequenceScores, scoreMot } from "../metrics/score-mot.ts";
import { toFrameBoxes } from "../mot/sequences.ts";
import type { WatchedFrame } from "./run-clip.ts";

export interface ClipScores {
  /** From 0 to 1. */
  readonly ap50: number;
  readonly tracking: SequenceScores;
}

const ANY_AREA: AreaRange = { from: 0, to: Number.POSITIVE_INFINITY };
/** Outside every range, so that COCO's rule for objects of other sizes applies: they count neither way. */
const UNSCORED_AREA = -1;
const NOTHING: WatchedFrame = { width: 0, height: 0, detections: [], tracks: [] };

/**
 * Frame n of the truth is frame n of the clip. Regions to ignore are left out of the tracking scores, as in published
 * evaluations, and count neither way for AP50. Missing frames of the clip count as frames without results.
 */
export function scoreClip(
  name: string,
  truth: readonly FrameBoxes[],
  frames: readonly WatchedFrame[],
  className: string,
  unscored: readonly FrameBoxes[] = [],
): ClipScores {
  const length = Math.max(truth.length, frames.length);
  const truly = Array.from({ length }, (_, index) => truth[index] ?? toFrameBoxes([]));
  const watched = Array.from({ length }, (_, index) => frames[index] ?? NOTHING);
  const results = watched.map(({ tracks, ...size }) =>
    toFrameBoxes(
      tracks.filter((track) => track.className === className).map(({ id, box }) => ({ id, box: toPixels(box, size) })),
    ),
  );
  const matched = watched.map(({ detections, ...size }, index) => {
    const ofClass = detections.filter((detection) => detection.className === className);
    const found = ofClass.map(({ box, confidence }): FoundObject => ({ box: toPixels(box, size), score: confidence }));
    const doubtful = listObjects(unscored[index] ?? toFrameBoxes([]), className).map((object) => ({
      ...object,
      area: UNSCORED_AREA,
    }));
    return matchPicture([...listObjects(truly[index] as FrameBoxes, className), ...doubtful], found, ANY_AREA);
  });
  const objects = matched.reduce((sum, picture) => sum + picture.objects, 0);
  const precision = drawPrecision(
    matched.flatMap(({ judged }) => judged),
    objects,
  );
  const [tracking] = scoreMot([{ name, truth: truly, results }]).sequences;
  return { ap50: mean(precision?.curves[0] ?? [0]), tracking: tracking as SequenceScores };
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

const listObjects = ({ ids, boxes }: FrameBoxes, className: string): readonly TrueObject[] =>
  ids.map((_, index) => {
    const box = [...boxes.subarray(index * 4, index * 4 + 4)] as unknown as PixelBox;
    return { box, className, isCrowd: false, area: box[2] * box[3] };
  });
