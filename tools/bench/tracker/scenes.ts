/** MOT sequences in memory, and other ways to play them: a choice of parameters must not depend on one course of events. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { CommandFailure } from "../../../cli/command.ts";
import type { MotTracker, Sighting } from "../../../elements/track/mot-tracker.ts";
import { compare, type FrameBoxes } from "../../eval/metrics/compare.ts";
import { countHota, drawHota } from "../../eval/metrics/hota.ts";
import { readSightings, timeOf } from "../../eval/mot/evaluate.ts";
import { listSequences, readTruth, type SequenceFolder } from "../../eval/mot/sequences.ts";

/** The first of these that a sequence has. */
const DETECTION_FILES = ["det_sort_frcnn.txt", "det.txt", join("det", "det.txt")];

export interface Scene {
  readonly name: string;
  readonly frameRate: number;
  readonly truth: readonly FrameBoxes[];
  readonly inputs: readonly (readonly Sighting[])[];
}

/** The sequences of all folders. Throws `CommandFailure` if a file is missing or invalid. */
export const readScenes = (directories: readonly string[]): readonly Scene[] =>
  directories.flatMap(listSequences).map(readScene);

function readScene({ name, folder, truthFile, frameCount, frameRate }: SequenceFolder): Scene {
  const file = DETECTION_FILES.map((one) => join(folder, one)).find((one) => existsSync(one));
  if (file === undefined)
    throw new CommandFailure(`${folder} has no detections: expected one of ${DETECTION_FILES.join(", ")}`);
  const { inputs } = readSightings(file, frameCount);
  return { name, frameRate, truth: readTruth(truthFile, frameCount), inputs };
}

/** Forwards, backwards, and every second frame. */
export function listPlays(scene: Scene): readonly Scene[] {
  const { frameRate, truth, inputs } = scene;
  const isKept = (_: unknown, index: number): boolean => index % 2 === 0;
  return [
    scene,
    { ...scene, truth: truth.toReversed(), inputs: inputs.toReversed() },
    { ...scene, frameRate: frameRate / 2, truth: truth.filter(isKept), inputs: inputs.filter(isKept) },
  ];
}

export function track({ frameRate, inputs }: Scene, tracker: MotTracker): readonly FrameBoxes[] {
  return inputs.map((sightings, index) => {
    const tracks = tracker.update(timeOf(index, frameRate), sightings);
    return { ids: tracks.map(({ id }) => id), boxes: Float64Array.from(tracks.flatMap(({ box }) => box)) };
  });
}

/** HOTA, the mean over all plays. */
export function scorePlays(scene: Scene, createTracker: () => MotTracker): number {
  return mean(
    listPlays(scene).map((play) => {
      const results = track(play, createTracker());
      return mean(drawHota(countHota(compare({ name: play.name, truth: play.truth, results }))).hota);
    }),
  );
}

export const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;
