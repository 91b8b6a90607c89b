/**
 * Files of which it is not known whether a source names them, because the database went away at the very moment: asked
 * again until it answers. What the server does not live to settle, its next start does.
 */
import type { Logger } from "pino";

const FIRST_MS = 1_000;
const MOST_MS = 60_000;

export class Settling {
  readonly #settle: (fileName: string) => Promise<void>;
  readonly #log: Logger;
  readonly #timers = new Set<NodeJS.Timeout>();
  #isClosed = false;

  constructor(settle: (fileName: string) => Promise<void>, log: Logger) {
    this.#settle = settle;
    this.#log = log;
  }

  /** Once now, and again later as often as it takes. Never rejects. */
  async settle(fileName: string, pauseMs = FIRST_MS): Promise<void> {
    try {
      await this.#settle(fileName);
    } catch (error) {
      if (this.#isClosed) return;
      this.#log.warn({ err: error, file: fileName }, "a video could not be settled; it is tried again");
      const timer = setTimeout(
        () => {
          this.#timers.delete(timer);
          void this.settle(fileName, Math.min(pauseMs * 2, MOST_MS));
        },
        pauseMs * (0.5 + Math.random() / 2),
      );
      timer.unref();
      this.#timers.add(timer);
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }
}
