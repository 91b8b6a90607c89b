/** Runs a task repeatedly, never twice at once, until it is closed. */
export class Poller {
  readonly #task: () => Promise<number>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isRunning = false;
  #isWoken = false;
  #isClosed = false;

  /** `task` resolves with the milliseconds until its next run, and must not reject. */
  constructor(task: () => Promise<number>) {
    this.#task = task;
  }

  start(delayMs: number): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#isRunning = true;
      this.#running = this.#task().then((nextMs) => {
        this.#isRunning = false;
        this.start(this.#isWoken ? 0 : nextMs);
        this.#isWoken = false;
      });
    }, delayMs);
  }

  /** Runs the task now, or once more after the current run. */
  wake(): void {
    if (this.#isRunning) {
      this.#isWoken = true;
      return;
    }
    clearTimeout(this.#timer);
    this.start(0);
  }

  /** Resolves when the current run, if any, has ended. */
  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}

/**
 * Runs the task about every `intervalMs` from now on, at irregular times, so that nodes do not run in step. A task that
 * rejects is reported and runs again after the same time.
 */
export function sweepEvery(
  intervalMs: number,
  task: () => Promise<unknown>,
  onError: (error: unknown) => void,
): Poller {
  const poller = new Poller(async () => {
    await task().catch(onError);
    return intervalMs * (0.75 + Math.random() / 2);
  });
  poller.start(intervalMs * Math.random());
  return poller;
}
