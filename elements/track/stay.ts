/** The mean time that objects stay in view, measured from the tracks of the scene itself. */

/** Older observations fade with this time constant. */
const FADE_S = 60;
/** Limits of the result: a scene without any new object would have none. */
const SHORTEST_S = 1;
const LONGEST_S = 30;

/**
 * The time that confirmed tracks were seen, divided by the number of tracks that began. It begins at `usualS`, with the
 * weight of one object that stayed that long.
 */
export class MeanStay {
  readonly #usualS: number;
  #seenS = 0;
  #begun = 0;

  constructor(usualS: number) {
    this.#usualS = usualS;
  }

  get seconds(): number {
    const meanS = (this.#seenS + this.#usualS) / (this.#begun + 1);
    return Math.min(Math.max(meanS, SHORTEST_S), LONGEST_S);
  }

  /** `seen` tracks were seen again after `seconds`, and `begun` tracks were confirmed. */
  note(seconds: number, seen: number, begun: number): void {
    if (!(seconds > 0)) return;
    const keep = Math.exp(-seconds / FADE_S);
    this.#seenS = this.#seenS * keep + seen * seconds;
    this.#begun = this.#begun * keep + begun;
  }

  forget(): void {
    this.#seenS = 0;
    this.#begun = 0;
  }
}
