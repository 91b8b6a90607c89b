/** Does something again and again, never twice at once, until it is closed. */
export class Again {
  readonly #act: () => Promise<number>;
  #timer: NodeJS.Timeout | undefined;
  #acting: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** `act` resolves with the milliseconds until the next time, and must not reject. */
  constructor(act: () => Promise<number>) {
    this.#act = act;
  }

  begin(afterMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#acting = this.#act().then((nextMs) => this.begin(nextMs));
    }, afterMs);
  }

  /** Resolves when it is not being done any more. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#acting;
  }
}
