/** Calls `onMissed` unless it is refreshed in time or closed. */
export class Deadline {
  readonly #timer: NodeJS.Timeout;
  #grace: NodeJS.Timeout | undefined;

  constructor(limitMs: number, onMissed: () => void) {
    this.#timer = setTimeout(() => {
      // After this process itself stood still, due timers fire before messages that arrived meanwhile: read those first.
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
