/** A migrated database of the test's own, on a PostgreSQL below the folder for temporary files. It works as root and as any user. */
import { rm } from "node:fs/promises";
import { type Logger, pino } from "pino";
import type { Config } from "../../schemas/config.ts";
import { Clients, connectClient, type Sql } from "./client.ts";
import { type DatabaseLimits, readDatabaseUrl } from "./database.ts";
import { copyDatabase, testFolder } from "./database-template.fixture.ts";
import { guardSql } from "./guard.ts";
import { type PrivatePostgres, startPrivatePostgres } from "./private-postgres.ts";
import { testKeyring } from "./sealing/test-key.fixture.ts";

export interface TestDatabase {
  readonly sql: Sql;
  /** Good for `database.url` and `DATABASE_URL`. */
  readonly url: string;
  close(): Promise<void>;
}

export const DATABASE_LIMITS: Config["database"] = {
  url: null,
  // Each of them plans every query again.
  connections: 4,
  start_seconds: 60,
  statement_seconds: 20,
};
/** Long enough for a busy machine; restarts are quick. */
export const PATIENT: DatabaseLimits = { stopSeconds: 20, waitMs: 20_000, restart: { firstMs: 20, maxMs: 1_000 } };

export const silentLog: Logger = pino({ level: "silent" });

/** For all databases of this process: starting a server takes several times as long as creating a database. */
const shared = { users: 0, created: 0, server: null as Promise<SharedServer> | null };
/** The databases of all files that run in one process. */
const SHARED_CONNECTIONS = 500;
/** The next file of this process may need it. */
const LINGER_MS = 1_000;

interface SharedServer {
  readonly admin: Sql;
  readonly url: string;
  close(): Promise<void>;
}

async function openShared(): Promise<SharedServer> {
  const { url, close } = await testPostgres({ max_connections: String(SHARED_CONNECTIONS) });
  // A database can be copied while it has no connections.
  const address = { ...readDatabaseUrl(url), database: "template1" };
  const admin = connectClient(address, { ...DATABASE_LIMITS, connections: 1 }, silentLog, testKeyring);
  return {
    ...{ admin, url },
    close: async () => {
      await admin.end();
      await close();
    },
  };
}

async function closeUnused(): Promise<void> {
  const { server, users } = shared;
  if (server === null || users > 0) return;
  shared.server = null;
  await (await server).close();
}

/** On a server that stops a moment after all databases of this process are closed. */
export async function testDatabase(): Promise<TestDatabase> {
  shared.users += 1;
  shared.server ??= openShared();
  const server = await shared.server;
  const name = `test_${++shared.created}`;
  await server.admin`create database ${server.admin(name)} template postgres`;
  const url = server.url.replace("///postgres?", `///${name}?`);
  const address = readDatabaseUrl(url);
  const clients = new Clients(() => connectClient(address, DATABASE_LIMITS, silentLog, testKeyring), 60_000);
  const { sql, settle } = guardSql(clients, { whenUp: () => null, waitMs: 0, limitMs: 60_000 });
  const end = async () => {
    await settle(5000);
    await clients.end();
    shared.users -= 1;
    setTimeout(closeUnused, LINGER_MS);
  };
  let ended: Promise<void> | null = null;
  const close = () => {
    ended ??= end();
    return ended;
  };
  return { sql, url, close };
}

/** Not connected to. */
export async function testPostgres(settings: Readonly<Record<string, string>> = {}) {
  const dataDir = await testFolder();
  let postgres: PrivatePostgres;
  try {
    await copyDatabase(dataDir);
    postgres = await startPrivatePostgres({
      dataDir,
      connections: 50,
      startSeconds: DATABASE_LIMITS.start_seconds,
      stopSeconds: PATIENT.stopSeconds,
      // Dozens of databases in one server: autovacuum would start a process for one of them every second.
      settings: { autovacuum: "off", ...settings },
      isTemporary: true,
      log: silentLog,
    });
  } catch (error) {
    await rm(dataDir, { recursive: true, force: true });
    throw error;
  }
  const { host, user, database } = postgres.address;
  return {
    url: `postgres:///${database}?host=${encodeURIComponent(host)}&user=${user}`,
    close: async () => {
      await postgres.stop();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}
