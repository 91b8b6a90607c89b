/** How old frames are when they arrive, lately. */
const KEPT = 256;

export interface LatencyReading {
  readonly p50: number;
  readonly p95: number;
}

export class Latency {
  readonly #ms: number[] = [];
  #next = 0;

  add(ms: number): void {
    this.#ms[this.#next % KEPT] = ms;
    this.#next += 1;
  }

  /** 0 before the first. */
  read(): LatencyReading {
    const sorted = [...this.#ms].sort((a, b) => a - b);
    const at = (part: number): number => Math.round(sorted[Math.floor(part * (sorted.length - 1))] ?? 0);
    return { p50: at(0.5), p95: at(0.95) };
  }
}
