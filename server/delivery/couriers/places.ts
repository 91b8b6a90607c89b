/** So many at a time; the others wait, and get in in the order in which they came. */
export class Places {
  readonly #queue: (() => void)[] = [];
  #free: number;

  constructor(most: number) {
    this.#free = most;
  }

  async take(): Promise<void> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  /** To the next in the queue, and to nobody who comes just now. */
  give(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }
}
