/** Goes on where the 32 bits of RTMP's milliseconds wrap, and back where they go back. */
export class WrappingClock {
  #lastMs: number | null = null;

  extend(timestamp: number): number {
    // The nearer way round, as a signed number of 32 bits.
    this.#lastMs = this.#lastMs === null ? timestamp : this.#lastMs + ((timestamp - this.#lastMs) | 0);
    return this.#lastMs;
  }
}
