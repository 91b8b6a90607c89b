/** Runners that are loaded ahead, so that what is started gets one at once. */
import type { Logger } from "pino";
import { backoff, unlessAborted } from "../async/timing.ts";
import { Runner, type RunnerOptions } from "./runner.ts";

export interface SpareOptions extends RunnerOptions {
  readonly count: number;
  /** Of spares that die. */
  readonly firstMs: number;
  readonly maxMs: number;
}

const CLOSING = "the server is being shut down";

export class SpareRunners {
  readonly #options: SpareOptions;
  readonly #log: Logger;
  readonly #spares = new Set<Runner>();
  readonly #loading = new Set<Runner>();
  /** Being loaded for somebody who waits, or to be gone soon: ours until they are handed over. */
  readonly #promised = new Set<Runner>();
  #deaths = 0;
  #refill: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: SpareOptions) {
    this.#options = options;
    this.#log = options.log;
  }

  /** Loads what is missing. */
  fill(): void {
    if (this.#isClosed || this.#refill !== undefined) return;
    while (this.#hasRoom) this.#load();
  }

  /**
   * Resolves with a runner that is loaded; it is the caller's from then on, and `fill` replaces it. Rejects when none could
   * be loaded, or the signal is aborted: then it stays here, for the next.
   */
  async take(signal: AbortSignal): Promise<Runner> {
    if (this.#isClosed) throw new Error(CLOSING);
    signal.throwIfAborted();
    // One that is being loaded is nearer than a new one.
    const [runner = this.#load()] = [...this.#spares, ...this.#loading];
    this.#spares.delete(runner);
    this.#loading.delete(runner);
    this.#promised.add(runner);
    try {
      await unlessAborted(runner.loaded, signal);
      if (this.#isClosed) throw new Error(CLOSING);
    } catch (error) {
      this.#takeBack(runner);
      throw error;
    }
    this.#promised.delete(runner);
    this.#deaths = 0;
    return runner;
  }

  /** Of those that are loaded and wait. */
  get pids(): readonly number[] {
    return [...this.#spares].flatMap(({ pid }) => pid ?? []);
  }

  /** Why there are no runners to be had; null when all is well. */
  get trouble(): string | null {
    if (this.#spares.size > 0) return null;
    return this.#deaths > 2 ? `the last ${this.#deaths} runners died while being loaded or waiting` : null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    const runners = [...this.#spares, ...this.#loading, ...this.#promised];
    for (const runner of runners) runner.kill(CLOSING);
    await Promise.all(runners.map(({ gone }) => gone));
  }

  get #hasRoom(): boolean {
    return this.#spares.size + this.#loading.size < this.#options.count;
  }

  #takeBack(runner: Runner): void {
    if (runner.isGone) return;
    if (this.#isClosed || !this.#hasRoom) {
      runner.kill("nobody needs it any more");
      return;
    }
    this.#promised.delete(runner);
    this.#keep(runner);
  }

  #load(): Runner {
    const runner = new Runner(this.#options);
    this.#keep(runner);
    void runner.gone.then((exit) => {
      const wasWanted = this.#spares.delete(runner) || this.#loading.delete(runner);
      this.#promised.delete(runner);
      if (!wasWanted || this.#isClosed) return;
      this.#deaths++;
      this.#log.warn({ exit, lines: runner.lastLines }, "a spare runner died");
      this.#refillLater();
    });
    return runner;
  }

  #keep(runner: Runner): void {
    this.#loading.add(runner);
    runner.loaded.then(
      () => {
        if (this.#loading.delete(runner)) this.#spares.add(runner);
      },
      () => {},
    );
  }

  #refillLater(): void {
    if (this.#refill !== undefined) return;
    this.#refill = setTimeout(
      () => {
        this.#refill = undefined;
        this.fill();
      },
      backoff(this.#deaths, this.#options),
    );
  }
}
