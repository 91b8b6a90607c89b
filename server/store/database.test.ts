import assert from "node:assert/strict";
import { chmod, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { isAlive } from "../is-alive.ts";
import { ServiceError } from "../service-error.ts";
import { DatabaseFault } from "./client.ts";
import { DATABASE_LIMITS, PATIENT, silentLog } from "./database.fixture.ts";
import { borrowDatabase, type Database, openDatabase } from "./database.ts";
import { copyDatabase, testFolder } from "./database-template.fixture.ts";
import { TEST_SECRETS } from "./sealing/test-key.fixture.ts";

const folders: string[] = [];
after(() => Promise.all(folders.map((folder) => rm(folder, { recursive: true, force: true }))));

async function emptyDataDir(): Promise<string> {
  const folder = await testFolder();
  folders.push(folder);
  return folder;
}

/** With a database in it, for what is not about making one. */
async function filledDataDir(): Promise<string> {
  const folder = await emptyDataDir();
  await copyDatabase(folder);
  return folder;
}

const configure = (dataDir: string) => ({
  data_dir: dataDir,
  database: DATABASE_LIMITS,
  secrets: TEST_SECRETS,
});

const readPid = async (dataDir: string): Promise<number> =>
  Number((await readFile(join(dataDir, "postgres/data/postmaster.pid"), "utf8")).split("\n")[0]);

const isFault = (words: RegExp) => (error: unknown) => error instanceof DatabaseFault && words.test(error.message);

test("a private database is closed to others, is shared with commands, and leaves nothing running", async () => {
  const dataDir = await emptyDataDir();
  const config = configure(dataDir);
  const database = await openDatabase(config, silentLog, PATIENT);
  const pid = await readPid(dataDir);
  assert.equal((await stat(join(dataDir, "postgres"))).mode & 0o777, 0o700);
  const [settings] = await database.sql`
    select current_setting('listen_addresses') as addresses, current_setting('TimeZone') as zone,
      current_setting('fsync') as fsync`;
  assert.deepEqual({ ...settings }, { addresses: "", zone: "UTC", fsync: "on" });
  assert.equal(await database.health(), null);

  await assert.rejects(
    openDatabase(config, silentLog, PATIENT),
    isFault(new RegExp(`Another Windhover \\(pid ${process.pid}\\)`)),
  );
  assert.ok(isAlive(pid), "the refused one did not harm the first");
  const borrowed = await borrowDatabase(config, silentLog);
  await borrowed.sql`create table birds (name text)`;
  await borrowed.close();
  assert.equal((await database.sql`select from birds`).length, 0);

  await Promise.all([database.close(), database.close()]);
  assert.ok(!isAlive(pid));
  await assert.rejects(database.sql`select 1`, (error) => error instanceof ServiceError);
  const alone = await borrowDatabase(config, silentLog);
  assert.equal((await alone.sql`select from birds`).length, 0);
  await alone.close();
  assert.deepEqual((await readdir(join(dataDir, "postgres"))).sort(), ["data", "socket"]);
});

test("keeps what was committed when PostgreSQL is killed repeatedly", async () => {
  const dataDir = await filledDataDir();
  const database = await openDatabase(configure(dataDir), silentLog, PATIENT);
  await database.sql`create table birds (n int primary key)`;
  const confirmed: number[] = [];
  const failures: unknown[] = [];
  let next = 0;
  let isDone = false;
  const write = async () => {
    while (!isDone) {
      const n = next++;
      await database.sql`insert into birds ${database.sql({ n })}`.then(
        () => confirmed.push(n),
        (error) => failures.push(error),
      );
    }
  };
  const writers = [1, 2, 3, 4].map(write);
  for (let round = 0; round < 2; round++) {
    const before = confirmed.length;
    while (confirmed.length < before + 50) await wait(10);
    process.kill(await readPid(dataDir), "SIGKILL");
  }
  const last = confirmed.length;
  while (confirmed.length < last + 50) await wait(10);
  isDone = true;
  await Promise.all(writers);
  const kept = new Set((await database.sql<{ n: number }[]>`select n from birds`).map(({ n }) => n));
  assert.deepEqual(
    confirmed.filter((n) => !kept.has(n)),
    [],
  );
  assert.ok(failures.every((error) => error instanceof ServiceError && error.code === "database_unavailable"));
  assert.equal(await database.health(), null);
  await database.close();
});

test("while it cannot be restarted, queries are rejected in time and health gives the reason", async () => {
  const dataDir = await filledDataDir();
  const database = await openDatabase(configure(dataDir), silentLog, { ...PATIENT, waitMs: 100 });
  const version = join(dataDir, "postgres/data/PG_VERSION");
  await writeFile(version, "9\n");
  process.kill(await readPid(dataDir), "SIGKILL");
  const unavailable = (error: unknown) =>
    error instanceof ServiceError && error.code === "database_unavailable" && error.retryAfterSeconds !== null;
  while ((await database.health()) === null) await wait(10);
  await assert.rejects(database.sql`select 1`, unavailable);
  await assert.rejects(
    database.sql.begin((tx) => tx`select 1`),
    unavailable,
  );
  while (!/created by PostgreSQL 9/.test((await database.health()) ?? "")) await wait(10);
  await writeFile(version, "15\n");
  while ((await database.health()) !== null) await wait(10);
  assert.equal((await database.sql`select 1`).length, 1);
  await database.close();
});

test("close ends the restart attempts", async () => {
  const dataDir = await filledDataDir();
  const never = { firstMs: 600_000, maxMs: 600_000 };
  const database = await openDatabase(configure(dataDir), silentLog, { ...PATIENT, restart: never });
  process.kill(await readPid(dataDir), "SIGKILL");
  while ((await database.health()) === null) await wait(10);
  await database.close();
});

test("ignores a stale lock file, even if its pid was reused", async () => {
  const dataDir = await filledDataDir();
  await (await openDatabase(configure(dataDir), silentLog, PATIENT)).close();
  const data = join(dataDir, "postgres/data");
  const lines = [process.pid, data, 1, 5432, join(dataDir, "postgres/socket"), "", "", "ready", ""];
  await writeFile(join(data, "postmaster.pid"), lines.join("\n"));
  const database = await openDatabase(configure(dataDir), silentLog, PATIENT);
  assert.notEqual(await readPid(dataDir), process.pid);
  await database.close();
});

test("reports data of another PostgreSQL version, or a folder that is not a database, and does not change it", async () => {
  const dataDir = await emptyDataDir();
  const data = join(dataDir, "postgres/data");
  await mkdir(data, { recursive: true });
  await writeFile(join(data, "PG_VERSION"), "9\n");
  await assert.rejects(
    openDatabase(configure(dataDir), silentLog, PATIENT),
    isFault(/created by PostgreSQL 9; installed: \d+.*Install postgresql-9/),
  );
  await rm(join(data, "PG_VERSION"));
  await writeFile(join(data, "notes.txt"), "mine");
  await assert.rejects(
    openDatabase(configure(dataDir), silentLog, PATIENT),
    isFault(/is not a PostgreSQL database. Move it away/),
  );
  assert.deepEqual(await readdir(data), ["notes.txt"]);
});

test("places the socket elsewhere for a data directory with a long path", async () => {
  const dataDir = join(await emptyDataDir(), ..."ab".split("").map((letter) => letter.repeat(100)));
  await copyDatabase(dataDir);
  const database = await openDatabase(configure(dataDir), silentLog, PATIENT);
  assert.equal(await database.health(), null);
  const borrowed = await borrowDatabase(configure(dataDir), silentLog);
  await borrowed.close();
  const [{ folder = "" } = {}] = await database.sql<{ folder: string }[]>`
    select current_setting('unix_socket_directories') as folder`;
  const socketFolder = folder.replaceAll('"', "");
  assert.equal((await stat(socketFolder)).mode & 0o777, 0o700);
  await database.close();
  folders.push(socketFolder);
});

test("places the database elsewhere for a data directory that user postgres may not enter", {
  skip: process.getuid?.() !== 0 && "only root has another user run PostgreSQL",
}, async () => {
  const dataDir = await emptyDataDir();
  await chmod(dataDir, 0o700);
  const warnings: string[] = [];
  const log = Object.assign(Object.create(silentLog), { warn: (_: object, text: string) => warnings.push(text) });
  let database: Database = await openDatabase(configure(dataDir), log, PATIENT);
  const [, outside = ""] = /the database is in (\/var\/lib\/windhover\/\w+)/.exec(warnings.join("\n")) ?? [];
  folders.push(outside);
  assert.equal((await stat(outside)).mode & 0o777, 0o700);
  await database.sql`create table birds (name text)`;
  await database.close();
  // It stays there, though the folder could be entered now.
  await chmod(dataDir, 0o755);
  database = await openDatabase(configure(dataDir), silentLog, PATIENT);
  assert.equal((await database.sql`select from birds`).length, 0);
  await database.close();
  assert.deepEqual(await readdir(dataDir), []);
});
