/** Waits for something that may be here whenever it is told so, and not for longer than its time. */

interface Waiting {
  isHere(): boolean;
  done(): void;
}

export class Awaited {
  readonly #waiting = new Set<Waiting>();

  /** Resolves when `isHere` holds, when the time is up, or when it is aborted. */
  wait(isHere: () => boolean, limitMs: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        this.#waiting.delete(entry);
        clearTimeout(timer);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const entry = { isHere, done };
      const timer = setTimeout(done, limitMs);
      signal.addEventListener("abort", done, { once: true });
      this.#waiting.add(entry);
    });
  }

  /** It may be here now. */
  tell(): void {
    for (const entry of [...this.#waiting]) if (entry.isHere()) entry.done();
  }

  /** Nobody waits any longer. */
  release(): void {
    for (const entry of [...this.#waiting]) entry.done();
  }
}
