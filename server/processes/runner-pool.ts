/** Runners that are loaded in advance, so that a start need not wait for one. */
import { backoff, unlessAborted } from "../async/timing.ts";
import { Runner, type RunnerOptions } from "./runner.ts";

export interface RunnerPoolOptions extends RunnerOptions {
  /** Idle runners to keep. */
  readonly count: number;
  /** Delays before idle runners that ended are replaced. */
  readonly firstMs: number;
  readonly maxMs: number;
}

const CLOSING = "the server is shutting down";

export class RunnerPool {
  readonly #options: RunnerPoolOptions;
  readonly #idle = new Set<Runner>();
  readonly #loading = new Set<Runner>();
  /** Loading for a caller that waits, or being killed. */
  readonly #reserved = new Set<Runner>();
  #deaths = 0;
  #refill: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(options: RunnerPoolOptions) {
    this.#options = options;
  }

  /** Loads what is missing. */
  fill(): void {
    if (this.#isClosed || this.#refill !== undefined) return;
    while (this.#hasRoom) this.#load();
  }

  /**
   * Resolves with a loaded runner, which the caller owns from then on; `fill` replaces it. Rejects when none can be
   * loaded, or when the signal is aborted: then the runner stays here, for the next caller.
   */
  async take(signal: AbortSignal): Promise<Runner> {
    if (this.#isClosed) throw new Error(CLOSING);
    signal.throwIfAborted();
    // One that is loading is ready sooner than a new one.
    const [runner = this.#load()] = [...this.#idle, ...this.#loading];
    this.#idle.delete(runner);
    this.#loading.delete(runner);
    this.#reserved.add(runner);
    try {
      await unlessAborted(runner.child.loaded, signal);
      if (this.#isClosed) throw new Error(CLOSING);
    } catch (error) {
      this.#takeBack(runner);
      throw error;
    }
    this.#reserved.delete(runner);
    this.#deaths = 0;
    return runner;
  }

  get idlePids(): readonly number[] {
    return [...this.#idle].flatMap(({ pid }) => pid ?? []);
  }

  /** Why no runner is available; null when all is well. */
  get trouble(): string | null {
    if (this.#idle.size > 0 || this.#deaths <= 2) return null;
    return `the last ${this.#deaths} runners ended while loading or idle`;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#refill);
    const runners = [...this.#idle, ...this.#loading, ...this.#reserved];
    for (const runner of runners) runner.kill(CLOSING);
    await Promise.all(runners.map(({ child }) => child.gone));
  }

  get #hasRoom(): boolean {
    return this.#idle.size + this.#loading.size < this.#options.count;
  }

  #takeBack(runner: Runner): void {
    if (runner.child.isGone) return;
    if (this.#isClosed || !this.#hasRoom) runner.kill("it is not needed");
    else {
      this.#reserved.delete(runner);
      this.#keep(runner);
    }
  }

  #load(): Runner {
    const runner = new Runner(this.#options);
    this.#keep(runner);
    void runner.child.gone.then((exit) => {
      const wasOurs = this.#idle.delete(runner) || this.#loading.delete(runner);
      this.#reserved.delete(runner);
      if (!wasOurs || this.#isClosed) return;
      this.#deaths += 1;
      this.#options.log.warn({ exit, lines: runner.child.lastLines }, "idle runner ended");
      this.#refill ??= setTimeout(
        () => {
          this.#refill = undefined;
          this.fill();
        },
        backoff(this.#deaths, this.#options),
      );
    });
    return runner;
  }

  #keep(runner: Runner): void {
    this.#loading.add(runner);
    runner.child.loaded.then(
      () => {
        if (this.#loading.delete(runner)) this.#idle.add(runner);
      },
      () => {},
    );
  }
}
