/** Slots that keys share: one key has one of them at most, and those that wait take turns. */
import { FairQueue } from "./fair-queue.ts";
import type { Release } from "./semaphore.ts";

export class FairSlots {
  #free: number;
  readonly #busy = new Set<string>();
  readonly #waiting = new FairQueue<() => void>();

  constructor(slots: number) {
    this.#free = slots;
  }

  /** Resolves with a function that releases it, once; with null when the signal is aborted or the time is over before. */
  acquire(key: string, signal: AbortSignal, limitMs: number): Promise<Release | null> {
    return new Promise((resolve) => {
      const stopWaiting = (): void => {
        clearTimeout(timer);
        signal.removeEventListener("abort", giveUp);
      };
      const enter = (): void => {
        stopWaiting();
        this.#free -= 1;
        this.#busy.add(key);
        resolve(this.#makeRelease(key));
      };
      const giveUp = (): void => {
        stopWaiting();
        this.#waiting.remove(key, enter);
        resolve(null);
      };
      const timer = setTimeout(giveUp, limitMs);
      if (signal.aborted) return giveUp();
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(key, enter);
      this.#fill();
    });
  }

  #fill(): void {
    while (this.#free > 0) {
      const enter = this.#waiting.take((key) => !this.#busy.has(key));
      if (enter === undefined) return;
      enter();
    }
  }

  #makeRelease(key: string): Release {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#free += 1;
      this.#busy.delete(key);
      this.#fill();
    };
  }
}
