/** Lets one reader wait until there is something to read. */
export class Wake {
  #resolve: (() => void) | null = null;

  /** Resolves at the next `ring`. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  ring(): void {
    this.#resolve?.();
    this.#resolve = null;
  }
}
