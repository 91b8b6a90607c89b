import { estimateCommonMiss, LEAST_MISSES, type Miss } from "./joint-motion.ts";
import { findJolt } from "./jolt.ts";
import type { Sighting } from "./mot-tracker.ts";
import type { ObjectTrack } from "./object-track.ts";

/** Unforeseen motion of a camera in a second, in lengths of the objects seen, and the share of it that lasts. */
const DEVIATION = 0.35;
const LASTING = 0.25;
/** A camera that has been moving goes on to do so for about this time. */
const UNREST_S = 0.5;
/** When a smaller share of the objects is found, the camera may have been knocked. */
const JOLT_SHARE = 0.7;

/** Pairs tracks with sightings: the column of each row or -1. */
export type Pair = (tracks: readonly ObjectTrack[], sightings: readonly Sighting[]) => Int32Array;

/** Where there is no picture, what all objects do at once is taken for the doing of the camera. */
export class CameraFollower {
  /** How much the camera moved of late, in lengths of the objects a second. */
  #unrest = 0;

  /** Shifts `all` tracks along with the camera. `witnesses` are those of them that are known well. */
  follow(
    all: readonly ObjectTrack[],
    witnesses: readonly ObjectTrack[],
    sightings: readonly Sighting[],
    seconds: number,
    pair: Pair,
  ): void {
    if (witnesses.length < LEAST_MISSES || sightings.length < LEAST_MISSES || !(seconds > 0)) return;
    let pairs = pair(witnesses, sightings);
    let shifted = 0;
    if (countPairs(pairs) < JOLT_SHARE * Math.min(witnesses.length, sightings.length)) {
      const jolt = findJolt(
        witnesses.map(({ filter }) => filter.box),
        sightings.map(({ box }) => box),
      );
      if (jolt !== null) {
        shift(all, jolt.right, jolt.down, 0);
        shifted = Math.hypot(jolt.right, jolt.down);
        pairs = pair(witnesses, sightings);
      }
    }
    const misses = listMisses(witnesses, sightings, pairs);
    if (misses.right.length < LEAST_MISSES) return;
    const length = misses.meanLength * seconds;
    const deviation = length * (DEVIATION + this.#unrest);
    const right = estimateCommonMiss(misses.right, deviation);
    const down = estimateCommonMiss(misses.down, deviation);
    shift(all, right, down, LASTING / seconds);
    const unrest = (Math.hypot(right, down) + shifted) / length;
    this.#unrest += Math.min(1, seconds / UNREST_S) * (unrest - this.#unrest);
  }

  forget(): void {
    this.#unrest = 0;
  }
}

function shift(tracks: readonly ObjectTrack[], right: number, down: number, lasting: number): void {
  for (const { filter } of tracks) {
    filter.x.shift(right, right * lasting);
    filter.y.shift(down, down * lasting);
  }
}

function listMisses(tracks: readonly ObjectTrack[], sightings: readonly Sighting[], pairs: Int32Array) {
  const right: Miss[] = [];
  const down: Miss[] = [];
  let lengths = 0;
  tracks.forEach(({ filter, spread }, row) => {
    const sighting = sightings[pairs[row] as number];
    if (sighting === undefined) return;
    const [left, top, width, height] = sighting.box;
    right.push({ offset: left + width / 2 - filter.x.position, variance: spread.x });
    down.push({ offset: top + height / 2 - filter.y.position, variance: spread.y });
    lengths += filter.unit;
  });
  return { right, down, meanLength: lengths / Math.max(1, right.length) };
}

const countPairs = (pairs: Int32Array): number => pairs.reduce((count, column) => (column < 0 ? count : count + 1), 0);
