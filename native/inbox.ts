/** A bounded queue between a callback that never waits and one reader that does. */
export class Inbox<T> {
  readonly #limit: number;
  readonly #waiting: T[] = [];
  #wake: (() => void) | null = null;
  #closed = false;

  /** Beyond `limit` the oldest go. */
  constructor(limit: number) {
    this.#limit = limit;
  }

  put(item: T): void {
    this.#waiting.push(item);
    if (this.#waiting.length > this.#limit) this.#waiting.shift();
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
