/** Runners that are loaded ahead, so that what is started gets one at once. */
import type { Logger } from "pino";
import { backOff } from "./restart.ts";
import { Runner, type RunnerOptions } from "./runner.ts";

export interface SpareOptions extends RunnerOptions {
  readonly count: number;
  /** Of spares that die. */
  readonly firstMs: number;
  readonly mostMs: number;
}

export class SpareRunners {
  readonly #options: SpareOptions;
  readonly #log: Logger;
  readonly #spares = new Set<Runner>();
  readonly #loading = new Set<Runner>();
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
    while (this.#spares.size + this.#loading.size < this.#options.count) this.#load();
  }

  /** Resolves with a runner that is loaded; it is the caller's from then on, and `fill` replaces it. Rejects when none could be loaded. */
  async take(): Promise<Runner> {
    if (this.#isClosed) throw new Error("the server is being shut down");
    const [runner = this.#nextLoading()] = this.#spares;
    this.#spares.delete(runner);
    this.#loading.delete(runner);
    await runner.loaded;
    this.#deaths = 0;
    if (this.#isClosed) {
      runner.kill("the server is being shut down");
      throw new Error("the server is being shut down");
    }
    return runner;
  }

  /** Why there are no runners to be had; null when all is well. */
  get trouble(): string | null {
    if (this.#spares.size > 0) return null;
    return this.#deaths > 2 ? `the last ${this.#deaths} runners died while being loaded or waiting` : null;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    const runners = [...this.#spares, ...this.#loading];
    for (const runner of runners) runner.kill("the server is being shut down");
    await Promise.all(runners.map(({ gone }) => gone));
  }

  /** One that is being loaded is nearer than a new one. */
  #nextLoading(): Runner {
    const [runner = new Runner(this.#options)] = this.#loading;
    return runner;
  }

  #load(): void {
    const runner = new Runner(this.#options);
    this.#loading.add(runner);
    runner.loaded.then(
      () => {
        if (this.#loading.delete(runner)) this.#spares.add(runner);
      },
      () => {},
    );
    void runner.gone.then((exit) => {
      if (!this.#spares.delete(runner) && !this.#loading.delete(runner)) return;
      if (this.#isClosed) return;
      this.#deaths++;
      this.#log.warn({ exit, lines: runner.lastLines }, "a spare runner died");
      this.#refillLater();
    });
  }

  #refillLater(): void {
    if (this.#refill !== undefined) return;
    this.#refill = setTimeout(
      () => {
        this.#refill = undefined;
        this.fill();
      },
      backOff(this.#deaths, this.#options, Math.random()),
    );
  }
}
