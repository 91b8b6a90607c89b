/** How detection goes, told about once a second. */
const EVERY_MS = 1000;
const KEPT = 256;

export interface Reading {
  readonly [key: string]: number;
  /** Medians over the last ones; 0 before the first. */
  readonly inference_ms: number;
  readonly latency_ms: number;
  /** Since the last reading. */
  readonly inferred_per_second: number;
  /** Since the start. */
  readonly frames: number;
  readonly inferred: number;
  readonly skipped: number;
}

export class Readings {
  readonly #inferenceMs: number[] = [];
  readonly #latencyMs: number[] = [];
  #frames = 0;
  #inferred = 0;
  #toldMs: number;
  #toldInferred = 0;

  constructor(nowMs: number) {
    this.#toldMs = nowMs;
  }

  /** Of one inference, over the last of them. */
  get inferenceMs(): number {
    return median(this.#inferenceMs);
  }

  passed(): void {
    this.#frames += 1;
  }

  looked(inferenceMs: number, latencyMs: number): void {
    this.#frames += 1;
    this.#inferred += 1;
    keep(this.#inferenceMs, inferenceMs);
    keep(this.#latencyMs, latencyMs);
  }

  /** Null when the last one was told less than a second ago. */
  read(nowMs: number, skipped: number): Reading | null {
    const sinceMs = nowMs - this.#toldMs;
    if (sinceMs < EVERY_MS) return null;
    const inferredPerSecond = ((this.#inferred - this.#toldInferred) * 1000) / sinceMs;
    this.#toldMs = nowMs;
    this.#toldInferred = this.#inferred;
    return {
      inference_ms: round(this.inferenceMs),
      latency_ms: round(median(this.#latencyMs)),
      inferred_per_second: round(inferredPerSecond),
      frames: this.#frames,
      inferred: this.#inferred,
      skipped,
    };
  }
}

function keep(list: number[], value: number): void {
  list.push(value);
  if (list.length > KEPT) list.shift();
}

function median(list: readonly number[]): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

const round = (value: number): number => Math.round(value * 10) / 10;
