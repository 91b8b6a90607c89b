/** Tracks every sequence of a folder, or reads the results of another tracker, and scores them. */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { CommandFailure } from "../../../cli/command.ts";
import type { MotTracker, Sighting, TrackedBox } from "../../../elements/track/mot-tracker.ts";
import type { FrameBoxes, MotSequence } from "../metrics/compare.ts";
import { type SequenceScores, scoreMot } from "../metrics/score-mot.ts";
import { rankConfidences } from "./confidences.ts";
import type { ReportedScores } from "./report.ts";
import {
  groupByFrame,
  type MotRow,
  readResults,
  readRows,
  readTruth,
  type SequenceFolder,
  toFrameBoxes,
} from "./sequences.ts";

/** The source of the boxes to score. */
export type Origin =
  | {
      readonly kind: "detections";
      /** Within the folder of each sequence. */
      readonly file: string;
      /** Called for each sequence. */
      readonly createTracker: () => MotTracker;
      /** Folder for the results. */
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
  /** The results to write. */
  readonly rows: readonly ResultRow[];
  readonly leftOut: number;
  /** Null for results of another tracker. */
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
    // Lets signals and the screen be handled between sequences.
    await nextTurn();
    const truth = readTruth(folder.truthFile, folder.frameCount);
    const found = findBoxes(folder, origin);
    boxes.push(found);
    inputs.push({ name: folder.name, truth, results: found.frames });
  }
  const { sequences, combined } = scoreMot(inputs);
  const elapsedMs = await timeAgain(boxes);
  // Last: an error leaves no files behind.
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

/** A second pass: the first is dominated by JIT compilation. */
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

export interface TrackedSequence {
  readonly rows: readonly ResultRow[];
  /** Detections without area, which cannot be tracked. */
  readonly leftOut: number;
  /** Tracks the sequence again and returns the time of the tracker. */
  timeAgainMs(): number;
}

/** Tracks the detections of a sequence. Throws `CommandFailure` for an invalid file. */
export function trackSequence(
  createTracker: () => MotTracker,
  file: string,
  { frameCount, frameRate }: { readonly frameCount: number; readonly frameRate: number },
): TrackedSequence {
  const { inputs, leftOut } = readSightings(file, frameCount);
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
  return { rows, leftOut, timeAgainMs };
}

const NOTHING: readonly Sighting[] = [];

/** The detections of every frame that have an area, and how many have none. Throws `CommandFailure`. */
export function readSightings(
  file: string,
  frameCount: number,
): { readonly inputs: readonly (readonly Sighting[])[]; readonly leftOut: number } {
  const read = readRows(file, frameCount);
  const usable = read.filter(({ box: [, , width, height] }) => width > 0 && height > 0);
  const rank = rankConfidences(usable.map(({ confidence }) => confidence));
  const toSighting = ({ box, confidence }: MotRow): Sighting => ({ box, confidence: rank(confidence), classId: 0 });
  const inputs = groupByFrame(usable, frameCount).map((rows) => (rows.length === 0 ? NOTHING : rows.map(toSighting)));
  return { inputs, leftOut: read.length - usable.length };
}

export const timeOf = (index: number, frameRate: number): bigint => BigInt(Math.round((index * 1e9) / frameRate));

export type ResultRow = Pick<MotRow, "frame" | "id" | "box" | "confidence">;

/** Rounded before scoring, as in the file, so that the file gives the same scores. */
export function roundRow({ frame, id, box, confidence }: ResultRow): ResultRow {
  const [left, top, width, height] = box;
  return { frame, id, box: [round(left), round(top), round(width), round(height)], confidence: round(confidence) };
}

const round = (value: number): number => Math.round(value * 1e4) / 1e4;

export const formatRows = (rows: readonly ResultRow[]): string =>
  rows.map(({ frame, id, box, confidence }) => `${[frame, id, ...box, confidence, -1, -1, -1].join(",")}\n`).join("");

/** Creates the folder. Throws `CommandFailure`. */
export function prepareFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true });
  } catch (cause) {
    throw new CommandFailure(`--out ${folder}: the folder cannot be created: ${(cause as Error).message}`, { cause });
  }
}

/** Writes `SEQUENCE.txt` atomically. */
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
