/** What one may want to change about the tracker. Times are in seconds: no frame is counted. */
export interface TrackerSettings {
  /** Sightings at or above it begin tracks. Weaker ones only hold on to one. */
  readonly confidence: number;
  /** A track that has not been seen for so long is given up, but not for the only look that fell into that time. */
  readonly maxAgeS: number;
  /** A track that was looked for and not seen is still shown, where it should be, for so long if it is a second old, else less. */
  readonly showPredictedS: number;
  /** Where the camera's motion is not given: takes what all objects have in common for it. */
  readonly isCameraFollowed: boolean;
}

/**
 * Chosen in the middle of what works about equally well, over sequences played forwards and backwards, at a half and a
 * third of their frame rate, with sightings left out, with boxes shaken and with a camera that pans.
 */
export const DEFAULT_SETTINGS: TrackerSettings = {
  confidence: 0.8,
  maxAgeS: 2,
  showPredictedS: 0.1,
  isCameraFollowed: true,
};

/** Intervals that tell what is usual: one that is out of the way, as after a gap, does not change it. */
const REMEMBERED = 3;
/** A track outlives so many intervals without a look, so that one look in vain is none too many. */
const LIFE_INTERVALS = 2.5;
/** However seldom one looks: what was there a minute ago is gone. */
const LONGEST_LIFE_S = 60;
/** Who looks more seldom than this would see much of what passes only once. */
const SLOW_S = 0.75;

/** How often one looks: a camera that takes a picture every five seconds is not one that was cut off for five seconds. */
export class LookPace {
  #intervalsS: readonly number[] = [];

  note(sinceLookS: number): void {
    if (sinceLookS > 0) this.#intervalsS = [sinceLookS, ...this.#intervalsS].slice(0, REMEMBERED);
  }

  /** What is seen cannot wait to be seen again before it is shown. */
  get isSlow(): boolean {
    return (this.#usualS ?? 0) > SLOW_S;
  }

  /** How long a track lives unseen that is to live for `maxAgeS`. Before anything is known of the pace, as long as any. */
  stretch(maxAgeS: number): number {
    const leastS = LIFE_INTERVALS * (this.#usualS ?? Number.POSITIVE_INFINITY);
    return Math.max(maxAgeS, Math.min(leastS, LONGEST_LIFE_S));
  }

  /** The lower median, or null before the second look. */
  get #usualS(): number | null {
    return this.#intervalsS.toSorted((a, b) => a - b)[(this.#intervalsS.length - 1) >> 1] ?? null;
  }
}
