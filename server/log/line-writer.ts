/**
 * Lines to a file descriptor, gathered for a moment: a write for every line would cost a busy service more than the lines
 * do. Never waits for whoever reads them: what a stalled reader misses is counted.
 */
import { write, writeSync } from "node:fs";

/** What a process that is killed loses at most. */
const GATHER_MS = 50;
const GATHERED_BYTES = 65_536;
const MOST_WAITING_BYTES = 4_000_000;
const RETRY_MS = 50;

export class LineWriter {
  readonly #descriptor: number;
  /** Told before the first line that fits again. */
  readonly #tellLoss: (lines: number) => string;
  #gathered: string[] = [];
  /** Gathered or being written. */
  #waitingBytes = 0;
  #timer: NodeJS.Timeout | undefined;
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
    const text = this.#lost === 0 ? line : this.#tellLoss(this.#lost) + line;
    this.#lost = 0;
    this.#gathered.push(text);
    this.#waitingBytes += text.length;
    if (!this.#isWriting) this.#writeSoon();
  }

  /** What is gathered is written now, by another thread. */
  flush(): void {
    if (this.#isWriting || this.#gathered.length === 0) return;
    this.#isWriting = true;
    this.#send(this.#take());
  }

  /** Resolves when all is written, nobody reads any more, or the time is up. */
  async drain(limitMs: number): Promise<void> {
    if (!this.#isWriting && this.#gathered.length === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, limitMs);
      this.#onIdle.push(() => {
        clearTimeout(timer);
        resolve();
      });
      this.flush();
    });
  }

  /** For the moment before the process dies: what is being written already is left alone. */
  drainNow(): void {
    let bytes = this.#take();
    this.#waitingBytes -= bytes.length;
    try {
      while (bytes.length > 0) bytes = bytes.subarray(writeSync(this.#descriptor, bytes));
    } catch {
      this.#isBroken = true;
    }
  }

  #take(): Buffer {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const text = this.#gathered.join("");
    this.#gathered = [];
    const bytes = Buffer.from(text);
    // Lines are counted by their letters until they are bytes.
    this.#waitingBytes += bytes.length - text.length;
    return bytes;
  }

  #writeSoon(): void {
    const isWaitedFor = this.#onIdle.length > 0;
    if (isWaitedFor || this.#waitingBytes >= GATHERED_BYTES) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), GATHER_MS);
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
      else this.#goOn();
    });
  }

  #goOn(): void {
    this.#isWriting = false;
    if (this.#gathered.length > 0) this.#writeSoon();
    else for (const told of this.#onIdle.splice(0)) told();
  }
}
