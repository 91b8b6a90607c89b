import { resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { Logger } from "pino";
import type { Config } from "../../schemas/config.ts";
import { type Address, connectClient, type Sql } from "./client.ts";
import { Clients } from "./clients.ts";
import { readDatabaseUrl } from "./database-url.ts";
import { DatabaseFault } from "./fault.ts";
import { type Guard, guardSql, isAway } from "./guard.ts";
import { migrate } from "./migrate.ts";
import { listDataFolders } from "./postgres-place.ts";
import { findPostmaster } from "./postmaster.ts";
import { socketAddress } from "./private-postgres.ts";
import { CLOSED } from "./sealing/keyring.ts";
import { type LoadedKeyring, loadKeyring } from "./sealing/load-keyring.ts";
import { sealStored } from "./sealing/seal-stored.ts";
import { SupervisedPostgres } from "./supervised-postgres.ts";

/** What of the configuration says where the database is. */
export type DatabaseConfig = Pick<Config, "data_dir" | "database" | "secrets">;

export interface Database {
  /** Rejects with `database_unavailable` while the database is away; a short absence is waited out. */
  readonly sql: Sql;
  /** Null when it answers, else why not. */
  readonly health: () => Promise<null | string>;
  /** Resolves when every connection is closed and nothing of a private PostgreSQL is left. */
  close(): Promise<void>;
}

const RETRY_MS = 100;
const OLDEST_VERSION = 130_000;

/**
 * The database that the configuration names, else a private one, migrated. Rejects with `DatabaseFault`, and then
 * nothing is left running.
 */
export async function openDatabase(config: DatabaseConfig, log: Logger): Promise<Database> {
  return open(config, log, await loadKeyring(config));
}

/** Without keys secrets can be neither read nor written. */
async function open(config: DatabaseConfig, log: Logger, keys: LoadedKeyring | null): Promise<Database> {
  const { url } = config.database;
  if (url !== null) return openAt(readDatabaseUrl(url), null, config, log, keys);
  const { connections, start_seconds, stop_seconds } = config.database;
  const options = { dataDir: resolve(config.data_dir), connections, log };
  const postgres = await SupervisedPostgres.start(
    { ...options, startSeconds: start_seconds, stopSeconds: stop_seconds },
    config.database,
  );
  try {
    return await openAt(postgres.address, postgres, config, log, keys);
  } catch (error) {
    await postgres.close();
    throw error;
  }
}

/** For commands that touch no secrets: the private database of a server that runs is used along with it; else as `openDatabase`. */
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
): Promise<Database> {
  const { statement_seconds, wait_seconds, start_seconds, stop_seconds } = config.database;
  const limitMs = (statement_seconds + 1) * 1000;
  const clients = new Clients(() => connectClient(address, config.database, log, keys?.keyring ?? CLOSED), 3 * limitMs);
  try {
    await waitForAnswer(clients.current, address, start_seconds * 1000);
    const applied = await migrate(clients.current);
    if (applied.length > 0) log.info({ applied }, "the database was migrated");
    const sealed = keys === null ? 0 : await sealStored(clients.current, keys);
    if (sealed > 0) log.info({ sealed, key: keys?.keyring.currentId }, "secrets sealed with the current key");
  } catch (error) {
    await clients.end();
    throw error;
  }
  const guard: Guard = {
    whenUp: postgres && (() => postgres.whenUp()),
    waitMs: wait_seconds * 1000,
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
      closing ??= settle(stop_seconds * 1000)
        .then(() => clients.end())
        .then(() => postgres?.close());
      return closing;
    },
  };
}

/** One that is just coming up is waited for; one that refuses us is not. */
async function waitForAnswer(client: Sql, address: Address, limitMs: number): Promise<void> {
  const deadlineMs = performance.now() + limitMs;
  const name = `The database ${address.database} at ${address.host}`;
  for (;;) {
    try {
      const [row] = await client<{ version: number; text: string }[]>`
        select current_setting('server_version_num')::int as version, current_setting('server_version') as text`;
      if (row !== undefined && row.version >= OLDEST_VERSION) return;
      throw new DatabaseFault(`${name} is PostgreSQL ${row?.text}; 13 or later is needed.`);
    } catch (error) {
      if (error instanceof DatabaseFault) throw error;
      const reason = error instanceof Error ? error.message : String(error);
      if (!isAway(error)) {
        throw new DatabaseFault(`${name} does not let user ${address.user} in: ${reason}. Check DATABASE_URL.`, {
          cause: error,
        });
      }
      if (performance.now() > deadlineMs) {
        throw new DatabaseFault(`${name} did not answer within ${limitMs / 1000} s: ${reason}.`, { cause: error });
      }
    }
    await wait(RETRY_MS);
  }
}
