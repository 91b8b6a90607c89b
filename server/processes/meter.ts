/**
 * How long a process ran under one claim, whatever the number of runners: each counts from zero, the sum only grows.
 * Written as the whole so far, so that writing it twice counts once.
 */
export class Meter {
  #endedMs = 0;
  #currentMs = 0;

  /** As the runner reports it: the time in `running` since it was started. */
  record(runningMs: number): void {
    this.#currentMs = Math.max(this.#currentMs, runningMs);
  }

  /** The next report is another runner's. */
  endRun(): void {
    this.#endedMs += this.#currentMs;
    this.#currentMs = 0;
  }

  get totalMs(): number {
    return Math.round(this.#endedMs + this.#currentMs);
  }
}
