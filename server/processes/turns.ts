import { refuseCrowd } from "./refusals.ts";

export interface TurnLimits {
  /** So many may wait. */
  readonly most: number;
  /** Whose turn has not come by then is refused, and never acts. */
  readonly waitMs: number;
}

/** One after the other: whoever comes waits until those before have done, or failed. */
export class Turns {
  readonly #limits: TurnLimits;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(limits: TurnLimits) {
    this.#limits = limits;
  }

  /** Rejects with `rate_limited` when too many wait, or for too long. */
  take<T>(act: () => Promise<T>): Promise<T> {
    const { most, waitMs } = this.#limits;
    if (this.#waiting >= most)
      return Promise.reject(refuseCrowd(`${most} requests wait for this process already; try again in a moment`));
    this.#waiting++;
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        reject(refuseCrowd(`the process did not get to this within ${waitMs / 1000} s; try again in a moment`));
      }, waitMs);
      void this.takeSurely(async () => {
        clearTimeout(timer);
        this.#waiting--;
        if (!isLate) await act().then(resolve, reject);
      });
    });
  }

  /** However many wait: for what must be done, and of which there is one at a time. */
  takeSurely<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last.then(act, act);
    this.#last = done.catch(() => {});
    return done;
  }
}
