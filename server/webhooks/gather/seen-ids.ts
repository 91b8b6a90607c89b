/**
 * Which ids of tracks were shown. Ids only grow, but one that was given earlier may be shown later: of the ids below the
 * highest, those not shown yet are remembered, the newest ones of them.
 */
export class SeenIds {
  readonly #mostMissing: number;
  #highest: number;
  /** In the order of ids. */
  readonly #missing = new Set<number>();

  /** Ids up to `highest` count as shown. */
  constructor(highest = 0, mostMissing = 256) {
    this.#highest = highest;
    this.#mostMissing = mostMissing;
  }

  /** True when it was not shown before. 0 is the id of what is not tracked. */
  add(id: number): boolean {
    if (id <= this.#highest) return this.#missing.delete(id);
    for (let missing = Math.max(this.#highest + 1, id - this.#mostMissing); missing < id; missing += 1)
      this.#missing.add(missing);
    this.#highest = id;
    for (const oldest of this.#missing) {
      if (this.#missing.size <= this.#mostMissing) break;
      this.#missing.delete(oldest);
    }
    return true;
  }
}
