/**
 * Sends samples to the runner of a process, in order, with a bounded number unanswered. Keeps the newest few: they wait for
 * a slow runner, and a new runner receives them again.
 */
import type { TelemetrySample } from "../../schemas/telemetry.ts";

/** Interpolating a camera position takes two samples. */
const KEPT = 8;
const MAX_UNANSWERED = 8;

export interface RunnerQueueOptions {
  /** Resolves with the number of elements that received the sample. */
  deliver(sample: TelemetrySample): Promise<unknown>;
  onListeners(count: number): void;
  /** A sample was replaced by newer ones: the runner is too slow. */
  onDropped(): void;
}

export class RunnerQueue {
  readonly #options: RunnerQueueOptions;
  readonly #recent: TelemetrySample[] = [];
  /** How many of the recent samples, from the newest back, are not sent. */
  #unsent = 0;
  #unanswered = 0;
  #isOpen = false;
  /** The current or next runner has received no sample. */
  #isNew = true;

  constructor(options: RunnerQueueOptions) {
    this.#options = options;
  }

  put(sample: TelemetrySample): void {
    this.#recent.push(sample);
    // A paused runner needs only the newest.
    const isPaused = !this.#isOpen && !this.#isNew;
    this.#unsent = isPaused ? 1 : this.#unsent + 1;
    if (this.#recent.length > KEPT) this.#recent.shift();
    if (this.#unsent > KEPT) {
      this.#unsent = KEPT;
      if (this.#isOpen) this.#options.onDropped();
    }
    this.#send();
  }

  setRunner(state: "running" | "paused" | "gone"): void {
    this.#isOpen = state === "running";
    if (state === "running") this.#isNew = false;
    if (state === "gone") {
      this.#isNew = true;
      this.#unsent = this.#recent.length;
    }
    this.#send();
  }

  #send(): void {
    while (this.#isOpen && this.#unsent > 0 && this.#unanswered < MAX_UNANSWERED) {
      const sample = this.#recent.at(-this.#unsent);
      this.#unsent -= 1;
      if (sample !== undefined) void this.#deliver(sample);
    }
  }

  async #deliver(sample: TelemetrySample): Promise<void> {
    this.#unanswered += 1;
    try {
      const count = await this.#options.deliver(sample);
      if (typeof count === "number") this.#options.onListeners(count);
    } catch {
      // The runner exits or has exited; the next one receives the sample again.
    }
    this.#unanswered -= 1;
    this.#send();
  }
}
