/** What was opened, closed again in the reverse order. One part that fails or hangs keeps none of the others from it. */
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";

interface Part {
  readonly name: string;
  readonly limitMs: number;
  close(): Promise<void> | void;
}

export class ShutDown {
  readonly #parts: Part[] = [];
  readonly #log: Logger;
  #closing: Promise<boolean> | null = null;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** `limitMs`: the part is given up then, and those below it are closed. */
  add(name: string, limitMs: number, close: Part["close"]): void {
    this.#parts.push({ name, limitMs, close });
  }

  /** Resolves when all are closed, with whether each was closed as it should be. Never rejects. */
  run(): Promise<boolean> {
    this.#closing ??= this.#closeAll();
    return this.#closing;
  }

  async #closeAll(): Promise<boolean> {
    let isClean = true;
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop())
      isClean = (await this.#close(part)) && isClean;
    return isClean;
  }

  async #close({ name, limitMs, close }: Part): Promise<boolean> {
    const abort = new AbortController();
    const late = wait(limitMs, "late" as const, { signal: abort.signal }).catch(() => "late" as const);
    try {
      const outcome = await Promise.race([Promise.resolve(close()).then(() => "closed" as const), late]);
      if (outcome === "late") this.#log.error({ part: name }, `${name} did not close within ${limitMs / 1000} s`);
      return outcome === "closed";
    } catch (error) {
      this.#log.error({ part: name, err: error }, `${name} did not close as it should`);
      return false;
    } finally {
      abort.abort();
    }
  }
}
