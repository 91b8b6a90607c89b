/** Runs tasks one after the other, in the order they were added, whether the ones before succeed or fail. */
export class SerialQueue {
  #last: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  /** Tasks that were added with a limit and have not started. */
  get waiting(): number {
    return this.#waiting;
  }

  run<T>(task: () => Promise<T>): Promise<T> {
    const done = this.#last.then(task, task);
    this.#last = done.catch(() => {});
    return done;
  }

  /** A task that has not started within the limit rejects with `makeError()` and never runs. */
  runWithin<T>(limitMs: number, makeError: () => Error, task: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        reject(makeError());
      }, limitMs);
      void this.run(async () => {
        clearTimeout(timer);
        this.#waiting -= 1;
        if (!isLate) await (async () => task())().then(resolve, reject);
      });
    });
  }
}
