/** Every sequence of a folder tracked, or read as others tracked it, and scored. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CommandFailure } from "../../../cli/command.ts";
import type { MotTracker } from "../../../elements/track/mot-tracker.ts";
import { type SequenceScores, scoreMot } from "../metrics/score-mot.ts";
import type { FrameBoxes, MotSequence } from "../metrics/sequence.ts";
import { groupByFrame, readResults, readTruth, toFrameBoxes } from "./frames.ts";
import type { ReportedScores } from "./report.ts";
import { prepareFolder, type ResultRow, writeResults } from "./results.ts";
import type { SequenceFolder } from "./sequence-folder.ts";
import { trackSequence } from "./track-sequence.ts";

/** Where the boxes to be scored come from. */
export type Origin =
  | {
      readonly kind: "detections";
      /** Within the folder of each sequence. */
      readonly file: string;
      /** A new one for each sequence. */
      readonly createTracker: () => MotTracker;
      /** Folder for what was tracked. */
      readonly out: string | undefined;
    }
  | { readonly kind: "results"; readonly folder: string };

export interface Evaluation {
  readonly sequences: readonly (ReportedScores & { readonly scores: SequenceScores })[];
  readonly combined: ReportedScores;
  /** Detections without area, over all sequences. */
  readonly leftOut: number;
}

interface Boxes {
  readonly frames: readonly FrameBoxes[];
  /** What was tracked here, as it is to be written. */
  readonly rows: readonly ResultRow[];
  readonly leftOut: number;
  /** Null where nothing was tracked here. */
  readonly timeAgainMs: (() => number) | null;
}

export async function evaluateMot(
  folders: readonly SequenceFolder[],
  origin: Origin,
  onSequence: (name: string, index: number) => void,
): Promise<Evaluation> {
  const missing = folders.map((folder) => fileOf(folder, origin)).filter((file) => !existsSync(file));
  if (missing.length > 0) throw new CommandFailure(missing.map((file) => `there is no file ${file}`).join("\n"));
  const inputs: MotSequence[] = [];
  const boxes: Boxes[] = [];
  for (const [index, folder] of folders.entries()) {
    onSequence(folder.name, index);
    // Between two sequences an interrupt and the screen have their turn.
    await nextTurn();
    const truth = readTruth(folder.truthFile, folder.frameCount);
    const found = findBoxes(folder, origin);
    boxes.push(found);
    inputs.push({ name: folder.name, truth, results: found.frames });
  }
  const { sequences, combined } = scoreMot(inputs);
  const elapsedMs = await timeAgain(boxes);
  // Last of all: what cannot be read or scored leaves nothing behind.
  if (origin.kind === "detections" && origin.out !== undefined) {
    prepareFolder(origin.out);
    for (const [index, { rows }] of boxes.entries()) writeResults(origin.out, inputs[index]?.name ?? "", rows);
  }
  return {
    sequences: sequences.map((scores, index) => ({
      name: scores.name,
      scores,
      frames: scores.frames,
      framesPerSecond: rateOf(scores.frames, [elapsedMs[index] ?? null]),
    })),
    combined: { name: "combined", scores: combined, ...totalOf(folders, elapsedMs) },
    leftOut: boxes.reduce((sum, { leftOut }) => sum + leftOut, 0),
  };
}

const fileOf = ({ folder, name }: SequenceFolder, origin: Origin): string =>
  origin.kind === "results" ? join(origin.folder, `${name}.txt`) : join(folder, origin.file);

function findBoxes(folder: SequenceFolder, origin: Origin): Boxes {
  const file = fileOf(folder, origin);
  if (origin.kind === "results")
    return { rows: [], frames: readResults(file, folder.frameCount), leftOut: 0, timeAgainMs: null };
  const { rows, ...rest } = trackSequence(origin.createTracker, file, folder);
  return { rows, frames: groupByFrame(rows, folder.frameCount).map(toFrameBoxes), ...rest };
}

/** In a pass of its own, when all have been tracked once: the first is mostly the compiler of JavaScript at work. */
async function timeAgain(boxes: readonly Boxes[]): Promise<readonly (number | null)[]> {
  const elapsedMs: (number | null)[] = [];
  for (const { timeAgainMs } of boxes) {
    await nextTurn();
    elapsedMs.push(timeAgainMs?.() ?? null);
  }
  return elapsedMs;
}

function totalOf(folders: readonly SequenceFolder[], elapsedMs: readonly (number | null)[]) {
  const frames = folders.reduce((sum, { frameCount }) => sum + frameCount, 0);
  return { frames, framesPerSecond: rateOf(frames, elapsedMs) };
}

function rateOf(frames: number, each: readonly (number | null)[]): number | null {
  const elapsedMs = each.reduce((sum, one) => (sum === null || one === null ? null : sum + one), 0);
  return elapsedMs === null ? null : (frames / Math.max(elapsedMs, 1e-6)) * 1000;
}
