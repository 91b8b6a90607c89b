/** Settings of the tracker. Times are in seconds, not in frames. */
export interface TrackerSettings {
  /** Minimum confidence to start a track. Weaker sightings can only continue one. */
  readonly confidence: number;
  /** A track not detected for this time ends, sooner where objects stay briefly, but not because of a single inference. */
  readonly maxAgeS: number;
  /** A missed track is shown at its predicted position for this time, less if it is younger than a second. */
  readonly showPredictedS: number;
  /** If the camera's motion is not given, estimate it from the common motion of the objects. */
  readonly isCameraFollowed: boolean;
}

/**
 * Chosen from the middle of the range that works about equally well, over sequences played forwards and backwards, at a
 * half and a third of their frame rate, with missing sightings, jittered boxes and a panning camera.
 */
export const DEFAULT_SETTINGS: TrackerSettings = {
  confidence: 0.8,
  maxAgeS: 2,
  showPredictedS: 0.1,
  isCameraFollowed: true,
};

/** The two numbers that `bench tracker` chooses on some sequences to score others. */
export interface TrackerTuning {
  /** Maximum surprise of a match. */
  readonly limit: number;
  /** Where objects stay for less on average, a lost track ends before `maxAgeS` and must match better to return. */
  readonly usualStayS: number;
}

export const DEFAULT_TUNING: TrackerTuning = { limit: 9, usualStayS: 12 };

/** Intervals in the median: a single outlier, as after a gap, does not change it. */
const REMEMBERED = 3;
/** A track outlives this many intervals, so that a single miss does not end it. */
const LIFE_INTERVALS = 2.5;
/** Upper limit for any interval. */
const LONGEST_LIFE_S = 60;
/** At longer intervals many objects are detected only once. */
const SLOW_S = 0.75;

/** Usual interval between inferences: distinguishes a slow frame rate from a gap. */
export class InferencePace {
  #intervalsS: readonly number[] = [];

  note(sinceInferenceS: number): void {
    if (sinceInferenceS > 0) this.#intervalsS = [sinceInferenceS, ...this.#intervalsS].slice(0, REMEMBERED);
  }

  /** Inference is too infrequent to confirm a track by a second sighting. */
  get isSlow(): boolean {
    return (this.usualS ?? 0) > SLOW_S;
  }

  /** Extends `maxAgeS` to the interval between inferences. Maximum before the interval is known. */
  stretch(maxAgeS: number): number {
    const leastS = LIFE_INTERVALS * (this.usualS ?? Number.POSITIVE_INFINITY);
    return Math.max(maxAgeS, Math.min(leastS, LONGEST_LIFE_S));
  }

  /** The lower median, or null before the second inference. */
  get usualS(): number | null {
    return this.#intervalsS.toSorted((a, b) => a - b)[(this.#intervalsS.length - 1) >> 1] ?? null;
  }
}
