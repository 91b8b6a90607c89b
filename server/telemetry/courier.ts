/**
 * Brings samples to the runner of a process, in order. While there is none, or it is paused, nothing is brought; a runner
 * that does not answer gathers no more than a few, and of what comes meanwhile only the newest few wait for it.
 */
import type { TelemetrySample } from "../../schemas/telemetry.ts";

/** So many of the last wait for a runner, and are told to a new one: it takes two to tell where a camera is between them. */
const REMEMBERED = 8;
/** Brought and not yet answered. */
const MOST_UNDERWAY = 8;

export interface CourierNeeds {
  /** Resolves with how many elements took it. */
  deliver(sample: TelemetrySample): Promise<unknown>;
  onListeners(count: number): void;
  /** One gave way to newer ones: the runner does not keep up. */
  onLost(): void;
}

export class Courier {
  readonly #needs: CourierNeeds;
  readonly #recent: TelemetrySample[] = [];
  /** Of the recent ones at the end, so many are not brought yet. */
  #owed = 0;
  #underway = 0;
  #isOpen = false;
  /** The runner, or whichever comes next, has been told nothing yet. */
  #isNew = true;

  constructor(needs: CourierNeeds) {
    this.#needs = needs;
  }

  put(sample: TelemetrySample): void {
    this.#recent.push(sample);
    // While it is paused, what is missed is not missed.
    const isPaused = !this.#isOpen && !this.#isNew;
    this.#owed = isPaused ? 1 : this.#owed + 1;
    if (this.#recent.length > REMEMBERED) {
      this.#recent.shift();
      if (this.#owed > REMEMBERED) {
        this.#owed = REMEMBERED;
        if (this.#isOpen) this.#needs.onLost();
      }
    }
    this.#bring();
  }

  /** There is a runner, and it runs. */
  open(): void {
    this.#isOpen = true;
    this.#isNew = false;
    this.#bring();
  }

  /** It is paused. */
  pause(): void {
    this.#isOpen = false;
  }

  /** It is gone: whoever comes next knows nothing. */
  forgetRunner(): void {
    this.#isOpen = false;
    this.#isNew = true;
    this.#owed = this.#recent.length;
  }

  #bring(): void {
    while (this.#isOpen && this.#owed > 0 && this.#underway < MOST_UNDERWAY) {
      const sample = this.#recent.at(-this.#owed);
      this.#owed -= 1;
      if (sample !== undefined) void this.#send(sample);
    }
  }

  async #send(sample: TelemetrySample): Promise<void> {
    this.#underway += 1;
    try {
      const count = await this.#needs.deliver(sample);
      if (typeof count === "number") this.#needs.onListeners(count);
    } catch {
      // The runner is going or gone; the next one is told again.
    }
    this.#underway -= 1;
    this.#bring();
  }
}
