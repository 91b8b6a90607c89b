/** Another class must be ahead by this factor before a track changes its own: two that take turns do not flicker. */
const LEAD = 1.5;
/** Older votes fade, so that a class settled wrongly at first can still be left. */
const HALF_LIFE_S = 10;
/** A vote speaks for the time since the last one, so that a frame rate changes nothing, but for no longer than this. */
const LONGEST_S = 0.25;
/** The first has none before it. */
const FIRST_S = 0.1;

/** What a track's sightings say it is: a vote each, weighed by confidence and time. */
export class ClassVote {
  #classId: number;
  readonly #weights = new Map<number, number>();

  constructor(classId: number, confidence: number) {
    this.#classId = classId;
    this.#weights.set(classId, confidence * FIRST_S);
  }

  get classId(): number {
    return this.#classId;
  }

  /** `seconds` have passed since the last vote. */
  cast(classId: number, confidence: number, seconds: number): void {
    const counted = Math.min(Math.max(seconds, 0), LONGEST_S);
    const keep = 2 ** (-counted / HALF_LIFE_S);
    for (const [known, weight] of this.#weights) this.#weights.set(known, weight * keep);
    const weight = (this.#weights.get(classId) ?? 0) + confidence * counted;
    this.#weights.set(classId, weight);
    if (weight > LEAD * (this.#weights.get(this.#classId) ?? 0)) this.#classId = classId;
  }
}
