import type { Sql } from "./client.ts";

/**
 * The client, and another one as soon as a connection of it is lost: postgres.js (3.4) hands the error of a lost
 * connection on to the next query on it, which was never sent.
 */
export class Clients {
  readonly #connect: () => Sql;
  readonly #retireMs: number;
  /** Queries may be under way on them; each with what will end it. */
  readonly #retired = new Map<Sql, NodeJS.Timeout>();
  #current: Sql;

  /** `retireMs`: longer than any query may take. */
  constructor(connect: () => Sql, retireMs: number) {
    this.#connect = connect;
    this.#retireMs = retireMs;
    this.#current = connect();
  }

  get current(): Sql {
    return this.#current;
  }

  /** One that was replaced already is not replaced again, however many of its queries fail. */
  replace(client: Sql): void {
    if (client !== this.#current) return;
    const end = () => {
      this.#retired.delete(client);
      client.end({ timeout: 0 });
    };
    this.#retired.set(client, setTimeout(end, this.#retireMs).unref());
    this.#current = this.#connect();
  }

  /** At once: given time, the client waits for the answers of connections that were lost. */
  async end(): Promise<void> {
    for (const timer of this.#retired.values()) clearTimeout(timer);
    await Promise.all([this.#current, ...this.#retired.keys()].map((client) => client.end({ timeout: 0 })));
    this.#retired.clear();
  }
}
