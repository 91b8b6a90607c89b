/** A bounded queue between a callback that never waits and one reader that does. */
export class Inbox<T> {
  readonly #limit: number;
  readonly #isVital: (item: T) => boolean;
  readonly #waiting: T[] = [];
  #wake: (() => void) | null = null;
  #closed = false;

  /**
   * Beyond `limit` the oldest go, but never one that is vital: what everything waits for. When there is nothing else,
   * further ones are not taken, as the first is the cause of the others.
   */
  constructor(limit: number, isVital: (item: T) => boolean = () => false) {
    this.#limit = limit;
    this.#isVital = isVital;
  }

  put(item: T): void {
    this.#waiting.push(item);
    // -1, when all are vital, is the last.
    if (this.#waiting.length > this.#limit)
      this.#waiting.splice(
        this.#waiting.findIndex((waiting) => !this.#isVital(waiting)),
        1,
      );
    this.#wake?.();
  }

  close(): void {
    this.#closed = true;
    this.#wake?.();
  }

  /** Ends after `close`, when what was put in before has been taken out. */
  async *read(): AsyncGenerator<T, void, undefined> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next !== undefined) yield next;
      else if (this.#closed) return;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}
