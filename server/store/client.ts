/**
 * Connections to PostgreSQL. For every query: rows have camelCase names (keys inside jsonb are unchanged), `bigint` is a
 * number, `timestamptz` a Date, `varchar` a sealed secret, the session's time zone is UTC, `undefined` as a value is an error.
 */

import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import postgres from "postgres";
import type { Config } from "../../schemas/config.ts";
import { canonicalJson } from "../../schemas/json.ts";

export interface Sealer {
  seal(text: string): string;
  /** Throws if it is not sealed, its key is missing, or it was altered. */
  open(sealed: string): string;
}

type Types = { bigint: number; sealed: unknown };
export type Sql = postgres.Sql<Types>;
/** For queries: the database, or a transaction. */
export type Queries = postgres.ISql<Types>;
/** A part of a query. */
export type Fragment = postgres.Fragment;
export type TransactionSql = postgres.TransactionSql<Types>;

/** The first row of a query, or null. */
export const firstOf = async <T>(query: PromiseLike<readonly T[]>): Promise<T | null> => (await query)[0] ?? null;

/** The row that an insert returns. */
export async function writtenRow<T>(query: PromiseLike<readonly T[]>): Promise<T> {
  const row = await firstOf(query);
  if (row === null) throw new Error("the database returned no row for an insert");
  return row;
}

/** Address of a database. `parameters` apply to every session. */
export interface Address {
  /** A name or address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string | null;
  readonly ssl: "require" | "prefer" | "verify-full" | false;
  readonly parameters: Readonly<Record<string, string>>;
  /**
   * Through PgBouncer in transaction mode: consecutive statements may run in different sessions, so there are no named
   * prepared statements, and time limits are set by PgBouncer (`connect_query`), which rejects them from clients.
   */
  readonly isPooled?: boolean;
}

/** Usage is in milliseconds and positions in files in nanoseconds: 2^53 of them are centuries, or 104 days. */
const bigint = {
  to: 20,
  from: [20],
  serialize: (value: number | bigint | string) => String(value),
  parse: (text: string) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new RangeError(`${text} from the database does not fit into a number`);
    return value;
  },
};

/**
 * Secrets: all columns of type varchar, which is used for nothing else. Reading opens them; they are written and compared
 * with `sql.typed.sealed(value)`.
 */
const sealedBy = (sealer: Sealer) => ({
  to: 1043,
  from: [1043],
  serialize: (value: unknown) => sealer.seal(canonicalJson(value)),
  parse: (text: string): unknown => JSON.parse(sealer.open(text)),
});

/** A host is passed as a list of one: the client splits a string at colons, which would break IPv6 addresses. */
function locate({ host, port }: Address): { host?: string; port?: number; path?: string } {
  if (host.startsWith("/")) return { path: `${host}/.s.PGSQL.${port}` };
  return { host: [host], port: [port] } as unknown as { host: string; port: number };
}

/** Connects with the first query, and again with the next query after a connection was lost. */
export function connectClient(address: Address, limits: Config["database"], log: Logger, sealer: Sealer): Sql {
  const statementMs = Math.ceil(limits.statement_seconds * 1000);
  const timeLimits = {
    ...{ statement_timeout: statementMs, lock_timeout: statementMs },
    idle_in_transaction_session_timeout: statementMs,
  };
  const client = postgres<{ bigint: typeof bigint; sealed: ReturnType<typeof sealedBy> }>({
    ...locate(address),
    database: address.database,
    user: address.user,
    // A function: for an empty string the client would read a password from the environment.
    password: () => address.password ?? "",
    ssl: address.ssl,
    max: limits.connections,
    connect_timeout: limits.statement_seconds,
    keep_alive: 10,
    backoff: (attempt: number) => (0.5 + Math.random() / 2) * Math.min(0.02 * 2 ** attempt, 1),
    types: { bigint, sealed: sealedBy(sealer) },
    // Fetching array types with every connection throws an error that cannot be caught if the connection is lost then.
    // Arrays are not used: lists are `in ${sql(list)}` or jsonb.
    fetch_types: false,
    prepare: !address.isPooled,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    onnotice: (notice) => log.debug({ notice: notice.message }, "database notice"),
    connection: {
      application_name: "windhover",
      TimeZone: "UTC",
      DateStyle: "ISO",
      ...(address.isPooled ? {} : timeLimits),
      ...address.parameters,
    },
  });
  const sql = forgetLostTransactions(client as unknown as Sql);
  return address.isPooled ? withoutPipelines(sql) : sql;
}

/**
 * A connection gets a statement only when it has answered the last one. The client describes statements with parameters
 * first: sent behind another statement, PgBouncer may pass the session on between the two answers, and this one is never
 * answered (pgbouncer/pgbouncer#759). `max_pipeline: 0` would do the same, but transactions fail with it (in 3.4.9).
 */
const withoutPipelines = (client: Sql): Sql =>
  new Proxy(client, {
    apply(target, self, given) {
      const query: unknown = Reflect.apply(target as unknown as () => unknown, self, given);
      // Called when it is sent; false: the connection takes no other until then.
      if (query instanceof Promise) (query as unknown as Sendable).options.onexecute = () => false;
      return query;
    },
  });

interface Sendable {
  readonly options: { onexecute?: () => boolean };
}

/** The database is not available. The message is complete: shown without a stack. */
export class DatabaseFault extends Error {
  override readonly name = "DatabaseFault";
}

/** The connection was lost: codes of the client, of Node's sockets, and of PostgreSQL. */
export const LOST: ReadonlySet<unknown> = new Set([
  ...["CONNECTION_CLOSED", "ECONNRESET", "EPIPE", "ETIMEDOUT"],
  ...["57P01", "57P02", "25P03"],
  // PgBouncer has no connection to PostgreSQL, or lost it; it closes that of the client.
  "08P01",
]);

export const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined);

/** A connection that was reported as lost is closed within this time. */
const CLOSING_MS = 5000;

type Begin = (...args: readonly unknown[]) => Promise<unknown>;
type Act = (tx: object) => unknown;

/**
 * Keeps transactions from using a lost connection. The client would roll back on the closed socket, and the error, which
 * belongs to no query, would end the process (porsager/postgres#1208, in 3.4.9).
 */
function forgetLostTransactions<S extends postgres.Sql>(client: S): S {
  const begin = client.begin as unknown as Begin;
  return new Proxy(client, {
    get: (target, name) =>
      name === "begin" ? (...args: unknown[]) => beginForgetting(begin, args) : Reflect.get(target, name),
  });
}

function beginForgetting(begin: Begin, args: readonly unknown[]): Promise<unknown> {
  const act = args.at(-1) as Act;
  let isOver = false;
  const done = begin(...args.slice(0, -1), async (tx: object) => {
    const guarded = new Proxy(tx, {
      apply(target, self, given) {
        if (isOver) throw new ConnectionLost();
        return Reflect.apply(target as () => unknown, self, given);
      },
    });
    try {
      return await resolveAll(act(guarded));
    } catch (error) {
      // When the connection closes, `begin` rejects by itself and this result is ignored.
      if (LOST.has(codeOf(error))) await wait(CLOSING_MS, undefined, { ref: false });
      if (isOver) await new Promise(() => {});
      throw error;
    }
  });
  const end = () => {
    isOver = true;
  };
  done.then(end, end);
  return done;
}

/** Accepts what `begin` accepts: a promise, or a list of queries. */
const resolveAll = (result: unknown): unknown => (Array.isArray(result) ? Promise.all(result) : result);

class ConnectionLost extends Error {
  readonly code = "CONNECTION_CLOSED";
  constructor() {
    super("the connection of this transaction was lost");
  }
}

/**
 * Replaces the client when one of its connections is lost: postgres.js (3.4) would pass the error of a lost connection to
 * the next query on it, which was never sent.
 */
export class Clients {
  readonly #connect: () => Sql;
  readonly #retireMs: number;
  /** With running queries, each with the timer that will end it. */
  readonly #retired = new Map<Sql, NodeJS.Timeout>();
  #current: Sql;

  /** `retireMs`: longer than any query. */
  constructor(connect: () => Sql, retireMs: number) {
    this.#connect = connect;
    this.#retireMs = retireMs;
    this.#current = connect();
  }

  get current(): Sql {
    return this.#current;
  }

  /** Once per client, however many of its queries fail. */
  replace(client: Sql): void {
    if (client !== this.#current) return;
    const end = () => {
      this.#retired.delete(client);
      client.end({ timeout: 0 });
    };
    this.#retired.set(client, setTimeout(end, this.#retireMs).unref());
    this.#current = this.#connect();
  }

  /** At once: with a timeout the client would wait for responses on lost connections. */
  async end(): Promise<void> {
    for (const timer of this.#retired.values()) clearTimeout(timer);
    await Promise.all([this.#current, ...this.#retired.keys()].map((client) => client.end({ timeout: 0 })));
    this.#retired.clear();
  }
}
