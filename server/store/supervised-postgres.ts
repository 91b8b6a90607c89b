import { setTimeout as wait } from "node:timers/promises";
import type { Config } from "../../schemas/config.ts";
import type { Address } from "./client.ts";
import { type PrivatePostgres, type PrivatePostgresOptions, startPrivatePostgres } from "./private-postgres.ts";

type Restart = Pick<Config["database"], "restart_first_seconds" | "restart_most_seconds">;

/** The private PostgreSQL, started again whenever it ends without having been told to. */
export class SupervisedPostgres {
  readonly address: Address;
  readonly #options: PrivatePostgresOptions;
  readonly #restart: Restart;
  readonly #closing = new AbortController();
  readonly #watching: Promise<void>;
  #run: PrivatePostgres | null;
  #down: string | null = null;
  #up: Promise<void> = Promise.resolve();

  static async start(options: PrivatePostgresOptions, restart: Restart): Promise<SupervisedPostgres> {
    return new SupervisedPostgres(await startPrivatePostgres(options), options, restart);
  }

  private constructor(run: PrivatePostgres, options: PrivatePostgresOptions, restart: Restart) {
    this.address = run.address;
    this.#run = run;
    this.#options = options;
    this.#restart = restart;
    this.#watching = this.#watch(run);
  }

  /** Why it is down; null when it is up. */
  get down(): string | null {
    return this.#down;
  }

  get pid(): number | null {
    return this.#run?.pid ?? null;
  }

  /** Resolves when it takes connections; never after `close`. */
  whenUp(): Promise<void> {
    return this.#up;
  }

  async close(): Promise<void> {
    this.#closing.abort();
    await this.#run?.stop();
    await this.#watching;
  }

  async #watch(first: PrivatePostgres): Promise<void> {
    const { log } = this.#options;
    let run = first;
    let attempt = 0;
    for (;;) {
      const startedMs = performance.now();
      const said = await run.ended;
      if (this.#closing.signal.aborted) return;
      const raise = this.#lower("it ended by itself and is being restarted");
      log.error({ said }, "the private PostgreSQL ended by itself");
      if (performance.now() - startedMs > this.#restart.restart_most_seconds * 1000) attempt = 0;
      const next = await this.#startAgain(attempt);
      if (next === null) return;
      ({ run, attempt } = next);
      if (this.#closing.signal.aborted) return run.stop();
      this.#run = run;
      this.#down = null;
      raise();
      log.info({ pid: run.pid }, "the private PostgreSQL runs again");
    }
  }

  #lower(reason: string): () => void {
    this.#run = null;
    this.#down = reason;
    let raise: () => void = () => {};
    this.#up = new Promise((resolve) => {
      raise = resolve;
    });
    return raise;
  }

  /** Null when it was closed meanwhile. */
  async #startAgain(first: number): Promise<{ run: PrivatePostgres; attempt: number } | null> {
    for (let attempt = first + 1; ; attempt++) {
      const { restart_first_seconds: least, restart_most_seconds: most } = this.#restart;
      const delayMs = 1000 * Math.min(most, least * 2 ** (attempt - 1)) * (0.5 + Math.random() / 2);
      await wait(delayMs, undefined, { signal: this.#closing.signal }).catch(() => undefined);
      if (this.#closing.signal.aborted) return null;
      try {
        return { run: await startPrivatePostgres(this.#options), attempt };
      } catch (error) {
        this.#down = error instanceof Error ? error.message : String(error);
        this.#options.log.error({ err: error, attempt }, "the private PostgreSQL could not be restarted");
      }
    }
  }
}
