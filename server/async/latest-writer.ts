/** Writes the latest value: while the database is unreachable one value waits, not a queue, and is retried. */
import { backoff, sleep } from "./timing.ts";

interface LatestWriterOptions<T> {
  /** False: it is written by another node now. */
  write(value: T): Promise<boolean>;
  /** Nothing is written from now on. */
  onLost(): void;
  onRetry(error: Error): void;
}

const RETRY = { firstMs: 200, maxMs: 5_000 };

export class LatestWriter<T> {
  readonly #options: LatestWriterOptions<T>;
  readonly #closing = new AbortController();
  #next: { readonly value: T } | null = null;
  #waiting: ((isWritten: boolean) => void)[] = [];
  #isWriting = false;

  constructor(options: LatestWriterOptions<T>) {
    this.#options = options;
  }

  /** Resolves with true when this value, or a later one, is written, and with false when none ever will be. */
  save(value: T): Promise<boolean> {
    if (this.#closing.signal.aborted) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#next = { value };
      this.#waiting.push(resolve);
      if (!this.#isWriting) void this.#write();
    });
  }

  close(): void {
    this.#closing.abort();
  }

  async #write(): Promise<void> {
    const { write, onLost, onRetry } = this.#options;
    const { signal } = this.#closing;
    this.#isWriting = true;
    for (let failures = 0; this.#next !== null && !signal.aborted; ) {
      const current = this.#next;
      const waiting = this.#waiting.splice(0);
      this.#next = null;
      try {
        const isOurs = await write(current.value);
        failures = 0;
        for (const resolve of waiting) resolve(isOurs);
        if (isOurs || signal.aborted) continue;
        this.close();
        onLost();
      } catch (error) {
        failures += 1;
        this.#next ??= current;
        this.#waiting.unshift(...waiting);
        onRetry(error as Error);
        await sleep(backoff(failures, RETRY), signal);
      }
    }
    this.#isWriting = false;
    for (const resolve of this.#waiting.splice(0)) resolve(false);
  }
}
