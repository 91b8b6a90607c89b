/** What a runner writes to its standard streams: drained always, so that it never blocks, and logged in moderation. */
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { maskCredentials } from "../../schemas/mask.ts";

const MOST_LINES_A_SECOND = 20;
const MOST_CHARS = 500;
const TAIL_LINES = 5;

export class RunnerOutput {
  readonly #log: (line: string) => void;
  readonly #tail: string[] = [];
  #secondMs = 0;
  #lines = 0;
  #left = 0;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  drain(stream: Readable): void {
    createInterface({ input: stream, crlfDelay: Number.POSITIVE_INFINITY }).on("line", (line) => this.#take(line));
    stream.on("error", () => {});
  }

  /** The last lines, for the log of a crash. */
  tail(): readonly string[] {
    return this.#tail;
  }

  #take(text: string): void {
    const line = maskCredentials(text.slice(0, MOST_CHARS));
    this.#tail.push(line);
    if (this.#tail.length > TAIL_LINES) this.#tail.shift();
    const nowMs = Date.now();
    if (nowMs - this.#secondMs >= 1000) {
      if (this.#left > 0) this.#log(`${this.#left} more lines were left out`);
      this.#secondMs = nowMs;
      this.#lines = 0;
      this.#left = 0;
    }
    if (++this.#lines > MOST_LINES_A_SECOND) this.#left++;
    else this.#log(line);
  }
}
