type Leave = () => void;

/** Only so many at once; the others wait, in order. */
export class Slots {
  #free: number;
  readonly #waiting = new Set<() => void>();
  /** Before all others. */
  readonly #urgent = new Set<() => void>();

  constructor(count: number) {
    this.#free = count;
  }

  /** Resolves with how to leave, any number of times. When the signal is aborted it resolves at once, without a slot. */
  async acquire(signal: AbortSignal, isUrgent = false): Promise<Leave> {
    if (signal.aborted) return () => {};
    if (this.#free > 0) {
      this.#free--;
      return this.#makeLeave();
    }
    const waiting = isUrgent ? this.#urgent : this.#waiting;
    return new Promise((resolve) => {
      const enter = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve(this.#makeLeave());
      };
      const giveUp = (): void => {
        waiting.delete(enter);
        resolve(() => {});
      };
      waiting.add(enter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** A slot that is left goes to the first who waits. */
  #makeLeave(): Leave {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [next] = [...this.#urgent, ...this.#waiting];
      if (next === undefined) {
        this.#free++;
        return;
      }
      this.#urgent.delete(next);
      this.#waiting.delete(next);
      next();
    };
  }
}
