/** How long this node owns what it claimed without a reply from the database. Afterwards another node may have claimed it. */
export class Lease {
  readonly #ms: number;
  readonly #onExpired: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(ms: number, onExpired: () => void) {
    this.#ms = ms;
    this.#onExpired = onExpired;
  }

  /** `askedMs`: when the renewal was sent, by `performance.now()`. */
  renew(askedMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(
      () => {
        this.#onExpired();
        // For what is claimed before the next renewal.
        this.renew(performance.now());
      },
      Math.max(0, askedMs + this.#ms - performance.now()),
    );
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }
}
