/** Another class must be ahead by this factor before a track changes its own: two that take turns do not flicker. */
const LEAD = 1.5;
/** Older votes fade, so that a class settled wrongly at first can still be left. */
const KEEP = 0.98;

/** What a track's sightings say it is: a vote each, weighed by confidence. */
export class ClassVote {
  #classId: number;
  readonly #weights = new Map<number, number>();

  constructor(classId: number, confidence: number) {
    this.#classId = classId;
    this.#weights.set(classId, confidence);
  }

  get classId(): number {
    return this.#classId;
  }

  cast(classId: number, confidence: number): void {
    for (const [known, weight] of this.#weights) this.#weights.set(known, weight * KEEP);
    const weight = (this.#weights.get(classId) ?? 0) + confidence;
    this.#weights.set(classId, weight);
    if (weight > LEAD * (this.#weights.get(this.#classId) ?? 0)) this.#classId = classId;
  }
}
