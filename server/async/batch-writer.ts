/**
 * Writes what is queued in batches, one at a time and in order, with retries. Adding never waits: the queue is bounded and
 * decides what to drop. An item that the database rejects for its own content must not hold up the others: its batch is
 * split until it is found, and it is dropped.
 */
import { type BackoffRule, backoff, sleep } from "./timing.ts";

/** Items on their way. Bounded by its owner; a queue may merge items (one state of each process, one row of each track). */
export interface BatchQueue<T> {
  readonly isEmpty: boolean;
  /** Removes the next batch, at least one item. */
  take(): readonly T[];
  /** They could not be written yet and are still the oldest. */
  putBack(batch: readonly T[]): void;
}

/** All in one batch. Bounded by its owner. */
export class ListQueue<T> implements BatchQueue<T> {
  readonly items: T[] = [];

  get isEmpty(): boolean {
    return this.items.length === 0;
  }

  take(): readonly T[] {
    return this.items.splice(0);
  }

  putBack(batch: readonly T[]): void {
    this.items.unshift(...batch);
  }
}

export interface BatchWriterOptions<T> {
  readonly queue: BatchQueue<T>;
  readonly retry: BackoffRule;
  /** Waits this long for more before it writes. Default: writes at once. */
  readonly delayMs?: number;
  /** All or nothing. */
  write(batch: readonly T[]): Promise<void>;
  onRetry(error: unknown): void;
  /** It can never be written. */
  onRejected(item: T, error: unknown): void;
}

/** PostgreSQL's error classes for bad values and violated constraints: a retry cannot succeed. */
const BAD_DATA = /^2[23]/;
export const isBadData = (error: unknown): boolean => BAD_DATA.test(String((error as { code?: unknown } | null)?.code));

export class BatchWriter<T> {
  readonly #options: BatchWriterOptions<T>;
  readonly #closing = new AbortController();
  #writing: Promise<void> | null = null;
  #failures = 0;
  /** Resolve `written`: of items in the queue, and of items in the current batch. */
  readonly #queuedWaiters: (() => void)[] = [];
  readonly #batchWaiters: (() => void)[] = [];

  constructor(options: BatchWriterOptions<T>) {
    this.#options = options;
  }

  /** Something was queued. */
  wake(): void {
    if (this.#writing !== null || this.#closing.signal.aborted) return;
    this.#writing = this.#run().finally(() => {
      this.#writing = null;
      this.#resolve(this.#batchWaiters);
      if (this.#options.queue.isEmpty) this.#resolve(this.#queuedWaiters);
      // Queued after the queue was last checked.
      if (!this.#options.queue.isEmpty && !this.#closing.signal.aborted) this.wake();
    });
  }

  /** Resolves when everything queued so far is written or dropped. While the database is unreachable it does not resolve. */
  async idle(): Promise<void> {
    while (this.#writing !== null) await this.#writing;
  }

  /**
   * Resolves when everything queued before the call is written or dropped, or the writer is closed; later items do not delay
   * it. The queue must give out all of its items as one batch.
   */
  written(): Promise<void> {
    if (this.#writing === null) return Promise.resolve();
    const waiters = this.#options.queue.isEmpty ? this.#batchWaiters : this.#queuedWaiters;
    return new Promise((resolve) => waiters.push(resolve));
  }

  /** Tries once more, without delay; what cannot be written then stays in the queue. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#writing;
    if (!this.#options.queue.isEmpty) await this.#writeNext().catch(() => {});
    this.#resolve(this.#queuedWaiters);
  }

  #resolve(waiters: (() => void)[]): void {
    for (const resolve of waiters.splice(0)) resolve();
  }

  async #run(): Promise<void> {
    const { queue, delayMs = 0, retry, onRetry } = this.#options;
    if (delayMs > 0) await sleep(delayMs, this.#closing.signal);
    while (!queue.isEmpty) {
      try {
        await this.#writeNext();
        this.#failures = 0;
      } catch (error) {
        this.#failures += 1;
        onRetry(error);
        if (this.#closing.signal.aborted) return;
        await sleep(backoff(this.#failures, retry), this.#closing.signal);
      }
    }
  }

  /** Rejects, with the rest back in the queue, when it should be retried. */
  async #writeNext(): Promise<void> {
    const { queue } = this.#options;
    let left = queue.take();
    if (queue.isEmpty) this.#batchWaiters.push(...this.#queuedWaiters.splice(0));
    try {
      while (left.length > 0) {
        left = left.slice(await writeSome(left, this.#options));
      }
      this.#resolve(this.#batchWaiters);
    } catch (error) {
      queue.putBack(left);
      this.#queuedWaiters.push(...this.#batchWaiters.splice(0));
      throw error;
    }
  }
}

/**
 * Writes the first items of the batch: all, or fewer when some cannot be written for their own content. Resolves with how
 * many are done, written or rejected. Rejects, with none of them written, when it should be retried.
 */
export async function writeSome<T>(
  batch: readonly T[],
  { write, onRejected }: Pick<BatchWriterOptions<T>, "write" | "onRejected">,
): Promise<number> {
  for (let part = batch; ; part = part.slice(0, Math.ceil(part.length / 2))) {
    try {
      await write(part);
      return part.length;
    } catch (error) {
      if (!isBadData(error)) throw error;
      const [first] = part;
      if (part.length > 1 || first === undefined) continue;
      onRejected(first, error);
      return 1;
    }
  }
}
