/**
 * Messages to the server, in order. The queue is bounded: when the server does not read, the oldest messages that may be
 * lost are dropped and counted; the graph is never slowed down.
 */
import type { RunnerMessage } from "../../../schemas/runner.ts";

/** Messages being written. */
const MAX_WRITING = 32;
const MAX_QUEUED = 512;

/** Never dropped. */
const ESSENTIAL = new Set<RunnerMessage["type"]>(["hello", "reply", "flowing", "state", "reconnecting"]);

/** Calls `done` when the message is written or lost. */
type Write = (message: RunnerMessage, done: () => void) => void;

export class Outbox {
  readonly #write: Write;
  readonly #queue: RunnerMessage[] = [];
  #writing = 0;
  #dropped = 0;
  #whenEmpty: (() => void)[] = [];

  constructor(write: Write) {
    this.#write = write;
  }

  /** Messages dropped since the start. */
  get dropped(): number {
    return this.#dropped;
  }

  put(message: RunnerMessage): void {
    this.#queue.push(message);
    this.#writeMore();
    if (this.#queue.length > MAX_QUEUED) this.#dropOldest();
  }

  /** Resolves when all messages are written. */
  empty(): Promise<void> {
    if (this.#writing === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenEmpty.push(resolve));
  }

  #writeMore(): void {
    while (this.#writing < MAX_WRITING) {
      const message = this.#queue.shift();
      if (message === undefined) return;
      this.#writing += 1;
      this.#write(message, () => this.#written());
    }
  }

  #written(): void {
    this.#writing -= 1;
    this.#writeMore();
    if (this.#writing > 0) return;
    for (const resolve of this.#whenEmpty.splice(0)) resolve();
  }

  #dropOldest(): void {
    const oldest = this.#queue.findIndex(({ type }) => !ESSENTIAL.has(type));
    if (oldest < 0) return;
    this.#queue.splice(oldest, 1);
    this.#dropped += 1;
  }
}
