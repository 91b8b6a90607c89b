/** Requests that wait for something to be made. Bounded in number and in time. */

interface Waiter {
  readonly isSo: () => boolean;
  readonly go: () => void;
}

export class WaitingRoom {
  readonly #most: number;
  readonly #waiters = new Set<Waiter>();

  constructor(most: number) {
    this.#most = most;
  }

  get isEmpty(): boolean {
    return this.#waiters.size === 0;
  }

  get isFull(): boolean {
    return this.#waiters.size >= this.#most;
  }

  /** Resolves when it is so, or is not after this long, or nobody wants to know any more. */
  wait(isSo: () => boolean, limitMs: number, signal: AbortSignal): Promise<void> {
    if (isSo() || signal.aborted || this.isFull) return Promise.resolve();
    return new Promise((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", go);
        this.#waiters.delete(waiter);
        resolve();
      };
      const waiter: Waiter = { isSo, go };
      const timer = setTimeout(go, limitMs);
      signal.addEventListener("abort", go);
      this.#waiters.add(waiter);
    });
  }

  /** Something has changed. */
  wake(): void {
    for (const { isSo, go } of [...this.#waiters]) if (isSo()) go();
  }

  /** Everybody goes. */
  clear(): void {
    for (const { go } of [...this.#waiters]) go();
  }
}
