/** Deaths of whole servers, by real processes. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmod, chown, readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { childCommand } from "../../test/child.fixture.ts";
import { findFreePort } from "../../test/ports.fixture.ts";
import { isAlive } from "../is-alive.ts";
import { connectClient, DatabaseFault } from "./client.ts";
import { DATABASE_LIMITS, PATIENT, silentLog, testPostgres } from "./database.fixture.ts";
import { openDatabase, readDatabaseUrl } from "./database.ts";
import { copyDatabase, testFolder } from "./database-template.fixture.ts";
import { TEST_SECRETS, testKeyring } from "./sealing/test-key.fixture.ts";

const SERVER = new URL("./database-server.child.ts", import.meta.url);
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

const configure = (dataDir: string, url: string | null = null) => ({
  data_dir: dataDir,
  database: { ...DATABASE_LIMITS, url },
  secrets: TEST_SECRETS,
});

async function waitForEnd(pid: number): Promise<void> {
  while (isAlive(pid)) await wait(10);
}

/** In a process group of its own, as a shell would start it. */
function startServer(dataDir: string, ...before: readonly string[]): ChildProcess {
  const [program = "", ...args] = [...before, process.execPath, ...childCommand(SERVER), dataDir];
  return spawn(program, args, { detached: true, stdio: ["ignore", "pipe", "pipe"] });
}

const readAll = async (stream: Readable | null): Promise<string> => (stream === null ? "" : text(stream));

async function readLine(server: ChildProcess): Promise<string> {
  assert.ok(server.stdout !== null);
  const lines = createInterface({ input: server.stdout });
  const [line] = await Promise.race([once(lines, "line"), once(lines, "close").then(() => [""])]);
  lines.close();
  return String(line);
}

async function readPid(server: ChildProcess): Promise<number> {
  const line = await readLine(server);
  const pid = Number(/^ready (\d+)$/.exec(line)?.[1]);
  assert.ok(pid > 0, `instead of "ready" it said: ${line}`);
  return pid;
}

test("a killed server leaves no PostgreSQL running, and the next one finds what was committed", async () => {
  const dataDir = await filledDataDir();
  for (let round = 1; round <= 2; round++) {
    const server = startServer(dataDir);
    const pid = await readPid(server);
    server.kill("SIGKILL");
    await once(server, "exit");
    // At once: PostgreSQL may still be shutting down, and is waited for.
    const database = await openDatabase(configure(dataDir), silentLog, PATIENT);
    await waitForEnd(pid);
    assert.equal((await database.sql`select from birds`).length, round);
    await database.close();
  }
});

test("Ctrl-C, sent to the whole process group, does not end the database before the server", async () => {
  const server = startServer(await filledDataDir());
  const pid = await readPid(server);
  const said = readAll(server.stdout);
  process.kill(-(server.pid ?? 0), "SIGINT");
  const [code] = await once(server, "exit");
  assert.deepEqual([code, (await said).trim().split("\n")], [0, ["used", "closed"]]);
  await waitForEnd(pid);
});

test("of two servers that start on the same data one is rejected, and the other works", async () => {
  const dataDir = await emptyDataDir();
  const servers = [startServer(dataDir), startServer(dataDir)];
  const errors = servers.map((server) => readAll(server.stderr));
  const lines = await Promise.all(servers.map(readLine));
  const winner = lines.findIndex((line) => line.startsWith("ready"));
  assert.ok(winner >= 0 && lines[1 - winner] === "", lines.join(" and "));
  assert.match((await errors[1 - winner]) ?? "", /Another Windhover/);
  servers[winner]?.kill("SIGINT");
  await once(servers[winner] as ChildProcess, "exit");
});

test("a full disk leaves no incomplete database", async () => {
  const dataDir = await emptyDataDir();
  // No file may grow beyond 1 MB: for a program it looks much like a full disk.
  const server = startServer(dataDir, "prlimit", "--fsize=1000000");
  const said = await readAll(server.stderr);
  assert.match(said, /A database could not be created in/);
  assert.deepEqual((await readdir(join(dataDir, "postgres"))).sort(), ["socket"]);
  const database = await openDatabase(configure(dataDir), silentLog, PATIENT);
  await database.close();
});

const ANYBODY = ["--reuid=65534", "--regid=65534", "--clear-groups"];
const canReadUs = () => spawnSync("setpriv", [...ANYBODY, "test", "-r", fileURLToPath(SERVER)]).status === 0;

test("a user other than root runs it as itself", {
  skip:
    (process.getuid?.() !== 0 && "this is what all the other tests show") ||
    (!canReadUs() && "only root can read this folder"),
}, async () => {
  const dataDir = await emptyDataDir();
  await chown(dataDir, 65534, 65534);
  await chmod(dataDir, 0o700);
  const server = startServer(dataDir, "setpriv", ...ANYBODY);
  const errors = readAll(server.stderr);
  const pid = await readPid(server).catch(async (error) => assert.fail(`${error.message}: ${await errors}`));
  server.kill("SIGKILL");
  await once(server, "exit");
  await waitForEnd(pid);
  await assert.rejects(
    openDatabase(configure(dataDir), silentLog, PATIENT),
    (error) => error instanceof DatabaseFault && /Start Windhover as the same user as before/.test(error.message),
  );
});

test("connects to a database URL over TCP, and does not reveal a wrong password", async () => {
  const port = await findFreePort();
  const postgres = await testPostgres({ listen_addresses: "127.0.0.1", port: String(port) });
  const admin = connectClient({ ...readDatabaseUrl(postgres.url), port }, DATABASE_LIMITS, silentLog, testKeyring);
  await admin`create role falcon login superuser password 'w1ngs'`;
  const [{ file = "" } = {}] = await admin<{ file: string }[]>`select current_setting('hba_file') as file`;
  await admin.unsafe(
    `copy (select 'local all all trust' union all select 'host all all 127.0.0.1/32 scram-sha-256') to '${file}'`,
  );
  await admin`select pg_reload_conf()`;
  const url = (password: string) => `postgres://falcon:${password}@127.0.0.1:${port}/postgres`;
  const database = await openDatabase(configure("/nowhere", url("w1ngs")), silentLog, PATIENT);
  assert.equal((await database.sql`select from users`).length, 0);
  await database.close();
  await assert.rejects(
    openDatabase(configure("/nowhere", url("feathers")), silentLog, PATIENT),
    (error) =>
      error instanceof DatabaseFault && /rejects user falcon/.test(error.message) && !/feathers/.test(error.message),
  );
  await admin.end();
  await postgres.close();
  const late = { ...DATABASE_LIMITS, url: url("w1ngs"), start_seconds: 0.2 };
  await assert.rejects(
    openDatabase({ data_dir: "/nowhere", database: late, secrets: TEST_SECRETS }, silentLog),
    (error) => error instanceof DatabaseFault && /did not respond within 0.2 s/.test(error.message),
  );
});
