/** Runs a task repeatedly, never twice at once, until it is closed. */
export class Poller {
  readonly #task: () => Promise<number>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isClosed = false;

  /** `task` resolves with the milliseconds until its next run, and must not reject. */
  constructor(task: () => Promise<number>) {
    this.#task = task;
  }

  start(delayMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#running = this.#task().then((nextMs) => this.start(nextMs));
    }, delayMs);
  }

  /** Resolves when the current run, if any, has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
