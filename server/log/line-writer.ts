/**
 * Writes lines to a file descriptor in batches. Never waits for a slow reader: lost lines are counted.
 *
 * Not pino's own sonic-boom: that wakes up periodically to flush, blocks in its synchronous flush while the reader does not
 * read, and does not report how many lines were lost.
 */
import { write, writeSync } from "node:fs";

/** A killed process loses the lines of this time. */
const BATCH_MS = 50;
const BATCH_BYTES = 65_536;
const MAX_QUEUED_BYTES = 4_000_000;
const RETRY_MS = 50;

export class LineWriter {
  readonly #descriptor: number;
  /** Written before the next line that fits. */
  readonly #describeLoss: (lines: number) => string;
  #queue: string[] = [];
  /** Queued or being written. */
  #queuedBytes = 0;
  #timer: NodeJS.Timeout | undefined;
  #isWriting = false;
  #isBroken = false;
  #lost = 0;
  #onIdle: (() => void)[] = [];

  constructor(descriptor: number, describeLoss: (lines: number) => string) {
    this.#descriptor = descriptor;
    this.#describeLoss = describeLoss;
  }

  write(line: string): void {
    if (this.#isBroken) return;
    if (this.#queuedBytes + line.length > MAX_QUEUED_BYTES) {
      this.#lost += 1;
      return;
    }
    const text = this.#lost === 0 ? line : this.#describeLoss(this.#lost) + line;
    this.#lost = 0;
    this.#queue.push(text);
    this.#queuedBytes += text.length;
    if (!this.#isWriting) this.#writeSoon();
  }

  /** Starts to write the queue now, asynchronously. */
  flush(): void {
    if (this.#isWriting || this.#queue.length === 0) return;
    this.#isWriting = true;
    this.#send(this.#take());
  }

  /** Resolves when all is written, on a write error, or after the limit. */
  async drain(limitMs: number): Promise<void> {
    if (!this.#isWriting && this.#queue.length === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#onIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.flush();
    });
  }

  /** Synchronously, before the process exits. A write in progress is not repeated. */
  drainNow(): void {
    let bytes = this.#take();
    this.#queuedBytes -= bytes.length;
    try {
      while (bytes.length > 0) bytes = bytes.subarray(writeSync(this.#descriptor, bytes));
    } catch {
      this.#isBroken = true;
    }
  }

  #take(): Buffer {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#queue.join("");
    this.#queue = [];
    const bytes = Buffer.from(text);
    // Lines are counted in characters until they are encoded.
    this.#queuedBytes += bytes.length - text.length;
    return bytes;
  }

  #writeSoon(): void {
    if (this.#onIdle.length > 0 || this.#queuedBytes >= BATCH_BYTES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), BATCH_MS);
  }

  #send(bytes: Buffer): void {
    write(this.#descriptor, bytes, (error, written) => {
      if (error?.code === "EAGAIN") {
        setTimeout(() => this.#send(bytes), RETRY_MS);
        return;
      }
      // The reader has gone, or the disk is full: the service continues without a log.
      if (error !== null) this.#isBroken = true;
      const rest = error === null ? bytes.subarray(written) : bytes.subarray(bytes.length);
      this.#queuedBytes -= bytes.length - rest.length;
      if (rest.length > 0) this.#send(rest);
      else this.#finish();
    });
  }

  #finish(): void {
    this.#isWriting = false;
    if (this.#queue.length > 0) this.#writeSoon();
    else for (const resolve of this.#onIdle.splice(0)) resolve();
  }
}
