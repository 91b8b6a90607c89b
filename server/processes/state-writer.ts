/**
 * Writes what becomes of a process. The latest snapshot is the one that counts: while the database is away there is one
 * to be written, not a queue, and it is tried again until it is through.
 */

import { backoff } from "../async/timing.ts";
import type { ProcessSnapshot } from "../store/processes.ts";

export interface StateWriterOptions {
  /** False: the process is somebody else's now. */
  write(snapshot: ProcessSnapshot): Promise<boolean>;
  /** The claim is lost: nothing is written any more. */
  onLost(): void;
  onTrouble(error: Error): void;
}

const RETRY = { firstMs: 200, maxMs: 5_000 };

interface Waiting {
  readonly snapshot: ProcessSnapshot;
  readonly written: Promise<boolean>;
  settle(isWritten: boolean): void;
}

export class StateWriter {
  readonly #options: StateWriterOptions;
  #next: Waiting | null = null;
  #isWriting = false;
  #isClosed = false;
  #wake: () => void = () => {};

  constructor(options: StateWriterOptions) {
    this.#options = options;
  }

  /** Resolves with true when this snapshot, or a later one, is written, and with false when none ever will be. */
  save(snapshot: ProcessSnapshot): Promise<boolean> {
    if (this.#isClosed) return Promise.resolve(false);
    this.#next = this.#next === null ? newWaiting(snapshot) : { ...this.#next, snapshot };
    const { written } = this.#next;
    if (!this.#isWriting) void this.#writeAll();
    return written;
  }

  /** Nothing is tried again. */
  close(): void {
    this.#isClosed = true;
    this.#wake();
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    while (this.#next !== null) {
      const waiting = this.#next;
      this.#next = null;
      const isWritten = await this.#tryUntilNewer(waiting);
      if (isWritten !== null) waiting.settle(isWritten);
    }
    this.#isWriting = false;
  }

  /** Whether it was written; null when a newer one took its place, which then also settles this one. */
  async #tryUntilNewer(waiting: Waiting): Promise<boolean | null> {
    for (let attempt = 1; !this.#isClosed; attempt++) {
      try {
        const isWritten = await this.#options.write(waiting.snapshot);
        if (!isWritten) this.#lose();
        return isWritten;
      } catch (error) {
        this.#options.onTrouble(error as Error);
      }
      await this.#sleep(backoff(attempt, RETRY));
      const newer: Waiting | null = this.#next;
      if (newer !== null) {
        void newer.written.then(waiting.settle);
        return null;
      }
    }
    return false;
  }

  #lose(): void {
    if (this.#isClosed) return;
    this.close();
    this.#next?.settle(false);
    this.#next = null;
    this.#options.onLost();
  }

  #sleep(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function newWaiting(snapshot: ProcessSnapshot): Waiting {
  let settle = (_: boolean): void => {};
  const written = new Promise<boolean>((resolve) => {
    settle = resolve;
  });
  return { snapshot, written, settle };
}
