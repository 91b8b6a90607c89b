/**
 * Takes an image of an object when it is clearly better than the last one. Encoding delays the frame by milliseconds, so
 * it is limited per frame and per second, in the time of the frames: at pace fast the same clip gives the same images.
 */
import type { Track } from "../../schemas/detections.ts";
import { MOST_PATCH_BYTES, type TrackPatch } from "../../schemas/track-report.ts";
import { choosePatch, isClearlyBetter, ratePatch } from "../../vision/patch.ts";
import type { Frame } from "../element.ts";

export type PatchFrame = Pick<Frame, "format" | "image">;

/** Keeps the image of a track. */
export interface PatchHolder {
  /** Score of the current image; 0 without one. */
  readonly patchScore: number;
  readonly patchTimeMs: number;
  keepPatch(patch: TrackPatch | null, score: number): void;
}

export interface Sighting {
  readonly holder: PatchHolder;
  readonly track: Track;
}

const MAX_A_FRAME = 2;
const MAX_A_SECOND = 12;
/** Minimum time between two images of one object: of an approaching object every frame is slightly better. */
const SOONEST_MS = 400;
/** An image that is too large is encoded again, with its sides scaled by this factor. */
const ATTEMPTS = 4;
const SMALLER = 0.7;

interface Candidate extends Sighting {
  readonly score: number;
}

export class Patches {
  readonly #onFault: (error: unknown) => void;
  #second = Number.NEGATIVE_INFINITY;
  #takenInSecond = 0;

  /** `onFault`: encoding failed, which must not fail the graph. */
  constructor(onFault: (error: unknown) => void) {
    this.#onFault = onFault;
  }

  async take(frame: PatchFrame, sightings: readonly Sighting[], timeMs: number, mostPixels: number): Promise<void> {
    for (const candidate of this.#choose(frame, sightings, timeMs)) {
      const jpeg = await encode(frame, candidate.track, mostPixels).catch((error: unknown) => {
        this.#onFault(error);
        return null;
      });
      const { confidence } = candidate.track;
      const patch = jpeg === null ? null : { timeMs, confidence, jpeg: Buffer.from(jpeg).toString("base64") };
      candidate.holder.keepPatch(patch, candidate.score);
    }
  }

  /** Tracks without an image first, then those that gain most. */
  #choose({ format }: PatchFrame, sightings: readonly Sighting[], timeMs: number): readonly Candidate[] {
    const second = Math.floor(timeMs / 1000);
    if (second !== this.#second) [this.#second, this.#takenInSecond] = [second, 0];
    const room = Math.min(MAX_A_FRAME, MAX_A_SECOND - this.#takenInSecond);
    if (room <= 0) return [];
    const gain = ({ score, holder }: Candidate) => score / holder.patchScore;
    const chosen = sightings
      .filter(({ holder }) => holder.patchScore === 0 || Math.abs(timeMs - holder.patchTimeMs) >= SOONEST_MS)
      .map((sighting): Candidate => ({ ...sighting, score: ratePatch(sighting.track, format) }))
      .filter(({ score, holder }) => isClearlyBetter(score, holder.patchScore))
      .sort((a, b) => compare(gain(b), gain(a)) || b.score - a.score || a.track.id - b.track.id)
      .slice(0, room);
    this.#takenInSecond += chosen.length;
    return chosen;
  }
}

/** Infinity minus Infinity is NaN. */
const compare = (a: number, b: number): number => (a === b ? 0 : a - b);

/** Null if it stays too large. */
async function encode(frame: PatchFrame, { box }: Track, mostPixels: number): Promise<Uint8Array | null> {
  const region = choosePatch(box);
  if (region === null) return null;
  const longerSide = Math.max(region.width * frame.format.width, region.height * frame.format.height);
  let pixels = Math.min(mostPixels, Math.max(1, Math.ceil(longerSide)));
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const jpeg = await frame.image("image/jpeg", { region, mostPixels: pixels });
    if (jpeg.length <= MOST_PATCH_BYTES) return jpeg;
    pixels = Math.max(1, Math.floor(pixels * SMALLER));
  }
  return null;
}
