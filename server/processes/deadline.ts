/** Something must be heard in time. Refreshed by every word; closed when nothing is waited for any more. */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  #grace: NodeJS.Timeout | undefined;

  constructor(limitMs: number, onMissed: () => void) {
    this.#timer = setTimeout(() => {
      // After a standstill of our own, timers that are due come before what was said meanwhile: that is read first.
      this.#grace = setTimeout(onMissed, GRACE_MS);
    }, limitMs);
  }

  refresh(): void {
    clearTimeout(this.#grace);
    this.#timer.refresh();
  }

  close(): void {
    clearTimeout(this.#grace);
    clearTimeout(this.#timer);
  }
}

const GRACE_MS = 1_000;
