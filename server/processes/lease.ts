/**
 * How long what this machine claimed is its own without a word from the database. When it is over, another machine may
 * have claimed it.
 */
export class Lease {
  readonly #ms: number;
  readonly #onOver: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(ms: number, onOver: () => void) {
    this.#ms = ms;
    this.#onOver = onOver;
  }

  /** It was renewed some time after this, by `performance.now()`. */
  renew(askedMs: number): void {
    clearTimeout(this.#timer);
    if (this.#isClosed) return;
    this.#timer = setTimeout(
      () => {
        this.#onOver();
        // For what is claimed until it is renewed again.
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
