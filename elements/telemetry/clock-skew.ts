/** How far the sender's clock is from ours, as far as the arrival of its messages (or frames) tells. */

const WINDOW_MS = 60_000;
/** What comes within this counts once, by the quickest: what was stored while a broker was away comes all at once. */
const MOMENT_MS = 250;
/** Messages that came quickly tell it best, and one that came before it was sent must not decide alone. */
const QUANTILE = 0.1;
/** Clocks that differ by less are taken for the same: the way of a message takes time too. */
const DIFFERENT_MS = 1500;
/** Once they differ they do so until they agree by this. */
const SAME_MS = 1000;

export class ClockSkew {
  #moments: { readonly receivedMs: number; readonly skewMs: number }[] = [];
  #differs = false;
  #skewMs = 0;

  note(timeMs: number, receivedMs: number): void {
    const skewMs = receivedMs - timeMs;
    const last = this.#moments.at(-1);
    if (last === undefined || Math.abs(receivedMs - last.receivedMs) >= MOMENT_MS) {
      this.#moments = this.#moments.filter((one) => receivedMs - one.receivedMs <= WINDOW_MS);
      this.#moments.push({ receivedMs, skewMs });
    } else if (skewMs < last.skewMs) this.#moments[this.#moments.length - 1] = { ...last, skewMs };
    else return;
    const skews = this.#moments.map((one) => one.skewMs).sort((a, b) => a - b);
    this.#skewMs = skews[Math.floor(QUANTILE * skews.length)] ?? 0;
    this.#differs = Math.abs(this.#skewMs) > (this.#differs ? SAME_MS : DIFFERENT_MS);
  }

  /** To be added to its times. */
  get offsetMs(): number {
    return this.#differs ? this.#skewMs : 0;
  }

  /** As it was measured; null before anything has come. */
  get measuredMs(): number | null {
    return this.#moments.length === 0 ? null : this.#skewMs;
  }

  get differs(): boolean {
    return this.#differs;
  }

  restart(): void {
    this.#moments = [];
    this.#differs = false;
    this.#skewMs = 0;
  }
}
