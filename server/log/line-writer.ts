/** Lines to a file descriptor, never waiting for whoever reads them: what a stalled reader misses is counted. */
import { write, writeSync } from "node:fs";

const MOST_WAITING_BYTES = 4_000_000;
const RETRY_MS = 50;

export class LineWriter {
  readonly #descriptor: number;
  /** Told before the first line that fits again. */
  readonly #tellLoss: (lines: number) => string;
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  #isWriting = false;
  #isBroken = false;
  #lost = 0;
  #onIdle: (() => void)[] = [];

  constructor(descriptor: number, tellLoss: (lines: number) => string) {
    this.#descriptor = descriptor;
    this.#tellLoss = tellLoss;
  }

  write(line: string): void {
    if (this.#isBroken) return;
    if (this.#waitingBytes + line.length > MOST_WAITING_BYTES) {
      this.#lost += 1;
      return;
    }
    const bytes = Buffer.from(this.#lost === 0 ? line : this.#tellLoss(this.#lost) + line);
    this.#lost = 0;
    this.#waiting.push(bytes);
    this.#waitingBytes += bytes.length;
    if (!this.#isWriting) this.#writeSome();
  }

  /** Resolves when all is written, nobody reads any more, or the time is up. */
  async drain(limitMs: number): Promise<void> {
    if (!this.#isWriting) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#onIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  /** For the moment before the process dies: what is being written already is left alone. */
  drainNow(): void {
    try {
      for (const bytes of this.#waiting.splice(0)) writeSync(this.#descriptor, bytes);
    } catch {
      this.#isBroken = true;
    }
  }

  #writeSome(): void {
    if (this.#waiting.length === 0) {
      this.#isWriting = false;
      for (const told of this.#onIdle.splice(0)) told();
      return;
    }
    this.#isWriting = true;
    this.#send(Buffer.concat(this.#waiting.splice(0)));
  }

  #send(bytes: Buffer): void {
    write(this.#descriptor, bytes, (error, written) => {
      if (error?.code === "EAGAIN") {
        setTimeout(() => this.#send(bytes), RETRY_MS);
        return;
      }
      // The reader has gone, or the disk is full: a service goes on without its log.
      if (error !== null) this.#isBroken = true;
      const rest = error === null ? bytes.subarray(written) : bytes.subarray(bytes.length);
      this.#waitingBytes -= bytes.length - rest.length;
      if (rest.length > 0) this.#send(rest);
      else this.#writeSome();
    });
  }
}
