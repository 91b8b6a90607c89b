/**
 * The one way to speak to PostgreSQL. Decided here for every query: rows have camelCase names (keys inside jsonb stay as
 * they are), `bigint` is a number, `timestamptz` a Date, `varchar` a sealed secret, the session's time zone UTC, `undefined`
 * as a value an error.
 */
import type { Logger } from "pino";
import postgres from "postgres";
import type { Config } from "../../schemas/config.ts";
import { canonicalJson } from "../../schemas/json.ts";
import { forgetLostTransactions } from "./lost-transactions.ts";
import type { Sealer } from "./sealing/keyring.ts";

type Types = { bigint: number; sealed: unknown };
export type Sql = postgres.Sql<Types>;
/** What a query needs: the database, or a transaction of it. */
export type Queries = postgres.ISql<Types>;
/** A part of a query. */
export type Fragment = postgres.Fragment;
export type TransactionSql = postgres.TransactionSql<Types>;

/** Where it listens. `parameters` go with every session. */
export interface Address {
  /** A name or address, or the folder of a Unix socket. */
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly user: string;
  readonly password: string | null;
  readonly ssl: "require" | "prefer" | "verify-full" | false;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Amounts of use are milliseconds and places in files nanoseconds: below 2^53 either means centuries or 104 days. */
const bigint = {
  to: 20,
  from: [20],
  serialize: (value: number | bigint | string) => String(value),
  parse: (text: string) => {
    const value = Number(text);
    if (!Number.isSafeInteger(value)) throw new RangeError(`${text} of the database does not fit into a number`);
    return value;
  },
};

/**
 * Secrets: columns of the type varchar, which nothing else has here. Read as they were before they were sealed; written and
 * compared with `sql.typed.sealed(value)`.
 */
const sealedBy = (sealer: Sealer) => ({
  to: 1043,
  from: [1043],
  serialize: (value: unknown) => sealer.seal(canonicalJson(value)),
  parse: (text: string): unknown => JSON.parse(sealer.open(text)),
});

/** A list of one, where it is no folder: the client cuts a name at every colon, and so an IPv6 address to pieces. */
function locate({ host, port }: Address): { host?: string; port?: number; path?: string } {
  if (host.startsWith("/")) return { path: `${host}/.s.PGSQL.${port}` };
  return { host: [host], port: [port] } as unknown as { host: string; port: number };
}

/** Connects with the first query, and again with the next one after a connection is lost. */
export function connectClient(address: Address, limits: Config["database"], log: Logger, sealer: Sealer): Sql {
  const statementMs = Math.ceil(limits.statement_seconds * 1000);
  const client = postgres<{ bigint: typeof bigint; sealed: ReturnType<typeof sealedBy> }>({
    ...locate(address),
    database: address.database,
    user: address.user,
    // Never the empty string: the client would then look for a password in the environment.
    password: () => address.password ?? "",
    ssl: address.ssl,
    max: limits.connections,
    connect_timeout: limits.statement_seconds,
    keep_alive: 10,
    backoff: (attempt: number) => (0.5 + Math.random() / 2) * Math.min(0.02 * 2 ** attempt, 1),
    types: { bigint, sealed: sealedBy(sealer) },
    // It would ask for the types of arrays with every new connection, and a connection that is lost just then is an
    // error that nobody can catch. We send and read no arrays: lists are `in ${sql(list)}` or jsonb.
    fetch_types: false,
    transform: { column: { from: postgres.toCamel, to: postgres.fromCamel } },
    onnotice: (notice) => log.debug({ notice: notice.message }, "the database remarks"),
    connection: {
      application_name: "windhover",
      TimeZone: "UTC",
      DateStyle: "ISO",
      statement_timeout: statementMs,
      lock_timeout: statementMs,
      idle_in_transaction_session_timeout: statementMs,
      ...address.parameters,
    },
  });
  return forgetLostTransactions(client as unknown as Sql);
}
