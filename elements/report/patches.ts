/**
 * Takes a picture of an object when it shows it clearly better than the last. Encoding holds the frame up for some
 * milliseconds, so there is a bound to it in frames and in seconds, both those of the pictures: at pace fast the same
 * clip gives the same ones.
 */
import type { Track } from "../../schemas/detections.ts";
import { MOST_PATCH_BYTES, type TrackPatch } from "../../schemas/track-report.ts";
import { choosePatch, isClearlyBetter, ratePatch } from "../../vision/patch.ts";
import type { Frame } from "../element.ts";

export type PatchFrame = Pick<Frame, "format" | "image">;

/** Whose picture it is. */
export interface Sitter {
  /** Of the picture it has; 0 without one. */
  readonly patchScore: number;
  readonly patchTimeMs: number;
  keepPatch(patch: TrackPatch | null, score: number): void;
}

export interface Sighting {
  readonly sitter: Sitter;
  readonly track: Track;
}

const MAX_A_FRAME = 2;
const MAX_A_SECOND = 12;
/** Of one object: while it comes nearer every frame would be a little better than the last. */
const SOONEST_MS = 400;
/** What is too large as a file is tried smaller, so often and by this share of its sides. */
const ATTEMPTS = 4;
const SMALLER = 0.7;

interface Candidate extends Sighting {
  readonly score: number;
}

export class Patches {
  readonly #onFault: (error: unknown) => void;
  #second = Number.NEGATIVE_INFINITY;
  #takenInSecond = 0;

  /** @param onFault a picture could not be taken; that must not end a graph */
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
      candidate.sitter.keepPatch(patch, candidate.score);
    }
  }

  /** Those that have none first, then those that gain most. */
  #choose({ format }: PatchFrame, sightings: readonly Sighting[], timeMs: number): readonly Candidate[] {
    const second = Math.floor(timeMs / 1000);
    if (second !== this.#second) [this.#second, this.#takenInSecond] = [second, 0];
    const room = Math.min(MAX_A_FRAME, MAX_A_SECOND - this.#takenInSecond);
    if (room <= 0) return [];
    const gain = ({ score, sitter }: Candidate) => score / sitter.patchScore;
    const chosen = sightings
      .filter(({ sitter }) => sitter.patchScore === 0 || Math.abs(timeMs - sitter.patchTimeMs) >= SOONEST_MS)
      .map((sighting): Candidate => ({ ...sighting, score: ratePatch(sighting.track, format) }))
      .filter(({ score, sitter }) => isClearlyBetter(score, sitter.patchScore))
      .sort((a, b) => compare(gain(b), gain(a)) || b.score - a.score || a.track.id - b.track.id)
      .slice(0, room);
    this.#takenInSecond += chosen.length;
    return chosen;
  }
}

/** Infinity from infinity is no number. */
const compare = (a: number, b: number): number => (a === b ? 0 : a - b);

/** Null when it stays too large whatever is done. */
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
