/** One after the other: whoever comes waits until those before have done, or failed. */
export class Turns {
  #last: Promise<unknown> = Promise.resolve();

  take<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#last.then(act, act);
    this.#last = done.catch(() => {});
    return done;
  }
}
