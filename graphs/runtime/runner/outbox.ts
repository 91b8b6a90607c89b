/**
 * What goes to the server, in order. Bounded: a server that does not read costs the oldest of what can be missed, which
 * is counted; it never slows the graph down.
 */
import type { RunnerMessage } from "../../../schemas/runner.ts";

/** Handed to the system and not written yet. */
const MOST_UNDER_WAY = 32;
/** Waiting behind those. */
const MOST_WAITING = 512;

/** What nobody can do without. */
const VITAL = new Set<RunnerMessage["type"]>(["hello", "reply", "flowing", "state", "reconnecting"]);

/** `done` is called when it is written or never will be. */
export type Write = (message: RunnerMessage, done: () => void) => void;

export class Outbox {
  readonly #write: Write;
  readonly #waiting: RunnerMessage[] = [];
  #underWay = 0;
  #dropped = 0;
  #whenEmpty: (() => void)[] = [];

  constructor(write: Write) {
    this.#write = write;
  }

  /** Messages that were lost since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  put(message: RunnerMessage): void {
    this.#waiting.push(message);
    this.#writeMore();
    if (this.#waiting.length > MOST_WAITING) this.#dropOldest();
  }

  /** Resolves when everything has been written. */
  empty(): Promise<void> {
    if (this.#underWay === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  #writeMore(): void {
    while (this.#underWay < MOST_UNDER_WAY) {
      const message = this.#waiting.shift();
      if (message === undefined) return;
      this.#underWay += 1;
      this.#write(message, () => this.#written());
    }
  }

  #written(): void {
    this.#underWay -= 1;
    this.#writeMore();
    if (this.#underWay > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  #dropOldest(): void {
    const oldest = this.#waiting.findIndex(({ type }) => !VITAL.has(type));
    if (oldest < 0) return;
    this.#waiting.splice(oldest, 1);
    this.#dropped += 1;
  }
}
