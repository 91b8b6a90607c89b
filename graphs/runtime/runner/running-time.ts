/** How long something has been running, pauses left out. */
export class RunningTime {
  #gatheredMs = 0;
  #sinceMs: number | null = null;

  get ms(): number {
    return this.#gatheredMs + (this.#sinceMs === null ? 0 : performance.now() - this.#sinceMs);
  }

  go(): void {
    this.#sinceMs ??= performance.now();
  }

  halt(): void {
    this.#gatheredMs = this.ms;
    this.#sinceMs = null;
  }
}
