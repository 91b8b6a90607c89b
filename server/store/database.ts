/** Opens and closes the database. */
import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { maskCredentials } from "../../schemas/mask.ts";
import { type Address, Clients, connectClient, DatabaseFault, type Sql } from "./client.ts";
import { type Guard, guardSql, isUnavailable } from "./guard.ts";
import { migrate } from "./migrate.ts";
import { listDataFolders } from "./postgres-setup.ts";
import { findPostmaster } from "./postmaster.ts";
import { SupervisedPostgres, socketAddress } from "./private-postgres.ts";
import { CLOSED, type LoadedKeyring, loadKeyring } from "./sealing/keyring.ts";
import { sealStored } from "./sealing/seal-stored.ts";

type DatabaseConfig = Pick<Config, "data_dir" | "database" | "secrets">;

export interface Database {
  /** Rejects with `database_unavailable` while the database is down; waits for a short restart. */
  readonly sql: Sql;
  /** Null if it responds, else the reason. */
  readonly health: () => Promise<null | string>;
  /** Resolves when every connection is closed and a private PostgreSQL has ended. */
  close(): Promise<void>;
}

/** An operator sets the others (`database`). */
export const LIMITS = {
  /** Grace period before each signal to the private database, and for running statements. */
  stopSeconds: 5,
  /** Time that a statement waits while the database restarts. */
  waitMs: 5_000,
  /** Delays between restarts of the crashed private database. */
  restart: { firstMs: 100, maxMs: 10_000 },
};
export type DatabaseLimits = Readonly<typeof LIMITS>;

const RETRY_MS = 100;
const OLDEST_VERSION = 130_000;

/**
 * Opens the configured database, or else a private one, and migrates it. Rejects with `DatabaseFault`; then nothing is left
 * running.
 */
export async function openDatabase(
  config: DatabaseConfig,
  log: Logger,
  limits: DatabaseLimits = LIMITS,
): Promise<Database> {
  return open(config, log, await loadKeyring(config), limits);
}

/** Without keys, secrets can be neither read nor written. */
async function open(
  config: DatabaseConfig,
  log: Logger,
  keys: LoadedKeyring | null,
  limits: DatabaseLimits = LIMITS,
): Promise<Database> {
  const { url } = config.database;
  if (url !== null) return openAt(readDatabaseUrl(url), null, config, log, keys, limits);
  const { connections, start_seconds } = config.database;
  const options = { dataDir: resolve(config.data_dir), connections, log };
  const postgres = await SupervisedPostgres.start(
    { ...options, startSeconds: start_seconds, stopSeconds: limits.stopSeconds },
    limits.restart,
  );
  try {
    return await openAt(postgres.address, postgres, config, log, keys, limits);
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

/** For commands that need no secrets: shares the private database of a running server; else as `openDatabase`. */
export async function borrowDatabase(config: DatabaseConfig, log: Logger): Promise<Database> {
  if (config.database.url !== null) return open(config, log, null);
  for (const folder of await listDataFolders(resolve(config.data_dir))) {
    const postmaster = await findPostmaster(folder);
    if (typeof postmaster?.owner === "number")
      return openAt(socketAddress(postmaster.socketFolder), null, config, log, null);
  }
  return open(config, log, null);
}

async function openAt(
  address: Address,
  postgres: SupervisedPostgres | null,
  config: DatabaseConfig,
  log: Logger,
  keys: LoadedKeyring | null,
  limits: DatabaseLimits = LIMITS,
): Promise<Database> {
  const { statement_seconds, start_seconds } = config.database;
  const limitMs = (statement_seconds + 1) * 1000;
  const clients = new Clients(() => connectClient(address, config.database, log, keys?.keyring ?? CLOSED), 3 * limitMs);
  try {
    await waitForAnswer(clients.current, address, start_seconds * 1000);
    const { applied, newer } = await migrate(clients.current, { isShared: postgres === null });
    if (applied.length > 0) log.info({ applied }, "database migrated");
    if (newer.length > 0) log.info({ newer }, "database has additive migrations of a newer version");
    const sealed = keys === null ? 0 : await sealStored(clients.current, keys);
    if (sealed > 0) log.info({ sealed, key: keys?.keyring.currentId }, "secrets sealed with the current key");
  } catch (error) {
    await clients.end();
    throw error;
  }
  const guard: Guard = {
    whenUp: () => postgres?.whenUp() ?? null,
    waitMs: limits.waitMs,
    limitMs,
  };
  const { sql, settle } = guardSql(clients, guard);
  let closing: Promise<void> | null = null;
  return {
    sql,
    health: async () => {
      if (postgres?.down) return postgres.down;
      return sql`select 1`.then(
        () => null,
        (error: Error) => error.message,
      );
    },
    close: () => {
      closing ??= settle(limits.stopSeconds * 1000)
        .then(() => clients.end())
        .then(() => postgres?.close());
      return closing;
    },
  };
}

/** Waits for a database that is starting, but not for one that rejects the login. */
async function waitForAnswer(client: Sql, address: Address, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  const name = `The database ${address.database} at ${address.host}`;
  for (;;) {
    try {
      const [row] = await client<{ version: number; text: string }[]>`
        select current_setting('server_version_num')::int as version, current_setting('server_version') as text`;
      if (row !== undefined && row.version >= OLDEST_VERSION) return;
      throw new DatabaseFault(`${name} is PostgreSQL ${row?.text}; expected 13 or later.`);
    } catch (error) {
      if (error instanceof DatabaseFault) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      // PgBouncer: see `Address.isPooled`.
      if (reason.startsWith("unsupported startup parameter"))
        throw new DatabaseFault(`${name} is behind PgBouncer: add pgbouncer=true to DATABASE_URL (${reason}).`, {
          cause: error,
        });
      if (!isUnavailable(error)) {
        throw new DatabaseFault(`${name} rejects user ${address.user}: ${reason}. Check DATABASE_URL.`, {
          cause: error,
        });
      }
      if (performance.now() > deadlineMs) {
        throw new DatabaseFault(`${name} did not respond within ${limitMs / 1000} s: ${reason}.`, { cause: error });
      }
    }
    await wait(RETRY_MS);
  }
}

const EXAMPLE = "postgres://user:password@host:5432/name, or postgres:///name?host=/folder/of/socket&user=user";
const SSL_MODES = {
  disable: false,
  allow: "prefer",
  prefer: "prefer",
  require: "require",
  "verify-ca": "verify-full",
  "verify-full": "verify-full",
} as const;

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
};

const isSslMode = (text: string): text is keyof typeof SSL_MODES => Object.hasOwn(SSL_MODES, text);

/** As libpq reads it: `host`, `port`, `user`, `password` may be parameters, too; a host with a slash is a folder. */
export function readDatabaseUrl(text: string): Address {
  const fault = (reason: string) =>
    new DatabaseFault(`The database URL ${reason}: "${maskCredentials(text)}". Expected ${EXAMPLE}.`);
  if (!/^postgres(ql)?:\/\//.test(text)) throw fault("does not begin with postgres://");
  if (!URL.canParse(text)) throw fault("cannot be read (a special character in the password must be %-encoded)");
  const url = new URL(text);
  const given = new Map(url.searchParams);
  const take = (name: string): string | undefined => {
    const value = given.get(name);
    given.delete(name);
    return value === "" ? undefined : value;
  };
  const host = take("host") ?? (decode(url.hostname).replace(/^\[(.*)\]$/, "$1") || "localhost");
  const port = Number(take("port") ?? (url.port || "5432"));
  const user = take("user") ?? (decode(url.username) || "postgres");
  const password = take("password") ?? (decode(url.password) || null);
  const mode = take("sslmode") ?? "prefer";
  const pooled = take("pgbouncer") ?? "false";
  if (pooled !== "true" && pooled !== "false") throw fault(`has pgbouncer=${pooled}, expected true or false`);
  if (!isSslMode(mode)) throw fault(`has the sslmode "${mode}", expected one of ${Object.keys(SSL_MODES).join(", ")}`);
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw fault("has an invalid port");
  return {
    host,
    port,
    user,
    password,
    database: decode(url.pathname.slice(1)) || user,
    ssl: host.startsWith("/") ? false : SSL_MODES[mode],
    parameters: Object.fromEntries(given),
    isPooled: pooled === "true",
  };
}
