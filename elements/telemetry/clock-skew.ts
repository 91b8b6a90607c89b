/** How far the sender's clock is from ours, as far as the arrival of its messages tells. */

const WINDOW = 64;
const WINDOW_MS = 60_000;
/** Messages that came quickly tell it best, and one that came before it was sent must not decide alone. */
const QUANTILE = 0.1;
/** Clocks that differ by less are taken for the same: the way of a message takes time too. */
const DIFFERENT_MS = 1500;
/** Once they differ they do so until they agree by this. */
const SAME_MS = 1000;

export class ClockSkew {
  readonly #arrivals: { readonly receivedMs: number; readonly skewMs: number }[] = [];
  #differs = false;
  #skewMs = 0;

  note(timeMs: number, receivedMs: number): void {
    this.#arrivals.push({ receivedMs, skewMs: receivedMs - timeMs });
    while (this.#arrivals.length > WINDOW || receivedMs - (this.#arrivals[0]?.receivedMs ?? receivedMs) > WINDOW_MS)
      this.#arrivals.shift();
    const skews = this.#arrivals.map(({ skewMs }) => skewMs).sort((a, b) => a - b);
    this.#skewMs = skews[Math.floor(QUANTILE * skews.length)] ?? 0;
    this.#differs = Math.abs(this.#skewMs) > (this.#differs ? SAME_MS : DIFFERENT_MS);
  }

  /** To be added to its times. */
  get offsetMs(): number {
    return this.#differs ? this.#skewMs : 0;
  }

  get differs(): boolean {
    return this.#differs;
  }

  restart(): void {
    this.#arrivals.length = 0;
    this.#differs = false;
    this.#skewMs = 0;
  }
}
