export type Release = () => void;

/** At most `permits` holders at once; the others wait, in order, urgent ones first. */
export class Semaphore {
  #free: number;
  readonly #waiting = new Set<() => void>();
  readonly #urgent = new Set<() => void>();

  constructor(permits: number) {
    this.#free = permits;
  }

  /** Resolves with a function that releases it, once. When the signal is aborted it resolves at once, without a permit. */
  async acquire(signal: AbortSignal, isUrgent = false): Promise<Release> {
    if (signal.aborted) return () => {};
    if (this.#free > 0) {
      this.#free -= 1;
      return this.#makeRelease();
    }
    const queue = isUrgent ? this.#urgent : this.#waiting;
    return new Promise((resolve) => {
      const enter = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve(this.#makeRelease());
      };
      const giveUp = (): void => {
        queue.delete(enter);
        resolve(() => {});
      };
      queue.add(enter);
      signal.addEventListener("abort", giveUp, { once: true });
    });
  }

  /** A permit that is released goes to the first who waits, not to one who comes just then. */
  #makeRelease(): Release {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const [next] = [...this.#urgent, ...this.#waiting];
      if (next === undefined) {
        this.#free += 1;
        return;
      }
      this.#urgent.delete(next);
      this.#waiting.delete(next);
      next();
    };
  }
}
