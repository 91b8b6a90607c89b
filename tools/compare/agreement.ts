/** How far the objects of two runs agree, class by class; one of them is the reference. */
import { scoreClip } from "../eval/clip/score-clip.ts";
import { pairTracks } from "../eval/metrics/clear.ts";
import type { Comparison, FrameBoxes } from "../eval/metrics/compare.ts";
import { type MotScores, type SequenceScores, scoreMot } from "../eval/metrics/score-mot.ts";
import { toFrameBoxes } from "../eval/mot/sequences.ts";
import type { GraphRun, SeenFrame } from "./watched-graph.ts";

/** Shares are from 0 to 1. Boxes match at an overlap (IoU) of at least 0.5 and with the same class. */
export interface Agreement {
  /** Share of the reference's boxes that the other run has, too. */
  readonly recall: number;
  /** Share of the other run's boxes that the reference has, too. */
  readonly precision: number;
  /** F1 of both. */
  readonly agreement: number;
  /** With the reference as ground truth: average precision at 0.5, and the scores of tracks. */
  readonly ap: number;
  readonly hota: number;
  readonly idf1: number;
  readonly switches: number;
  readonly classes: readonly ClassAgreement[];
}

export interface ClassAgreement {
  readonly name: string;
  /** Tracks of the reference, of the other run, and of both: together in at least half of the reference's frames. */
  readonly tracks: { readonly reference: number; readonly other: number; readonly matched: number };
}

const LEAST_SHARED = 0.5;

export function compareRuns(reference: GraphRun, other: GraphRun): Agreement {
  const [was, is] = alignFrames(reference.frames, other.frames);
  const names = [...new Set([...was, ...is].flatMap((frame) => frame?.tracks.map(({ className }) => className) ?? []))];
  const sequences = names.sort().map((name) => ({
    name,
    truth: was.map((frame) => boxesOf(frame, name)),
    results: is.map((frame) => boxesOf(frame, name)),
  }));
  const scored = scoreMot(sequences);
  const [before, now] = [countBoxes(was), countBoxes(is)];
  const matched = before - scored.combined.missed;
  return {
    recall: shareOf(matched, before),
    precision: shareOf(matched, now),
    agreement: shareOf(2 * matched, before + now),
    ap: scoreDetections(sequences, is),
    ...scoresOf(scored.combined, names.length),
    classes: scored.sequences.map(describeClass),
  };
}

/** Nothing to find and nothing found is full agreement. */
const shareOf = (part: number, whole: number): number => (whole === 0 ? 1 : part / whole);

const scoresOf = ({ hota, idf1, switches }: MotScores, classes: number) =>
  classes === 0 ? { hota: 1, idf1: 1, switches: 0 } : { hota, idf1, switches };

/** Frames of both with the same time, in order; null where one of them has no such frame. */
export function alignFrames(
  a: readonly SeenFrame[],
  b: readonly SeenFrame[],
): readonly [readonly (SeenFrame | null)[], readonly (SeenFrame | null)[]] {
  const [first, second] = [a, b].map((frames) => new Map(frames.map((frame) => [frame.ptsNs, frame])));
  const times = [...new Set([...a, ...b].map(({ ptsNs }) => ptsNs))].sort((x, y) => (x < y ? -1 : x > y ? 1 : 0));
  return [times.map((time) => first?.get(time) ?? null), times.map((time) => second?.get(time) ?? null)];
}

const boxesOf = (frame: SeenFrame | null, className: string): FrameBoxes =>
  toFrameBoxes(frame?.tracks.filter((track) => track.className === className) ?? []);

const countBoxes = (frames: readonly (SeenFrame | null)[]): number =>
  frames.reduce((sum, frame) => sum + (frame?.tracks.length ?? 0), 0);

const NOTHING = { width: 1, height: 1, detections: [], tracks: [] };

/** Mean over the classes, weighted by the boxes of the reference. Boxes are fractions of the frame: its size is 1. */
function scoreDetections(
  sequences: readonly { readonly name: string; readonly truth: readonly FrameBoxes[] }[],
  frames: readonly (SeenFrame | null)[],
): number {
  const watched = frames.map((frame) => (frame === null ? NOTHING : { ...frame, width: 1, height: 1 }));
  const scores = sequences.map(({ name, truth }) => ({
    boxes: truth.reduce((sum, { ids }) => sum + ids.length, 0),
    ap: scoreClip(name, truth, watched, name).ap50,
  }));
  const all = scores.reduce((sum, { boxes }) => sum + boxes, 0);
  return shareOf(
    scores.reduce((sum, { boxes, ap }) => sum + boxes * (boxes === 0 ? 0 : ap), 0),
    all,
  );
}

function describeClass({ name, comparison }: SequenceScores): ClassAgreement {
  const seen = countFrames(comparison);
  const matched = pairTracks(comparison).filter(({ object, frames }) => frames >= LEAST_SHARED * (seen[object] ?? 0));
  const tracks = {
    reference: comparison.objectIds.length,
    other: comparison.trackIds.length,
    matched: matched.length,
  };
  return { name, tracks };
}

/** Of each object of the reference. */
function countFrames({ objectIds, frames }: Comparison): Float64Array {
  const seen = new Float64Array(objectIds.length);
  for (const { objects } of frames) for (const object of objects) seen[object] = (seen[object] ?? 0) + 1;
  return seen;
}
