/** With real deaths of PostgreSQL: what the client gets wrong is what a killed server makes it see. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setImmediate as turn, setTimeout as wait } from "node:timers/promises";
import { connectClient, type Sql } from "./client.ts";
import { DATABASE_LIMITS, silentLog, testPostgres } from "./database.fixture.ts";
import { readDatabaseUrl } from "./database.ts";
import { testKeyring } from "./sealing/test-key.fixture.ts";

const postgres = await testPostgres();
after(() => postgres.close());
const faults: unknown[] = [];
process.on("uncaughtException", (error) => faults.push(error));

/** All of it restarts when one part is killed, in a moment. */
async function connect(): Promise<Sql> {
  const sql = connectClient(readDatabaseUrl(postgres.url), DATABASE_LIMITS, silentLog, testKeyring);
  after(() => sql.end({ timeout: 0 }));
  for (;;)
    try {
      await sql`select 1`;
      return sql;
    } catch {
      await wait(20);
    }
}

/**
 * Kills one part of PostgreSQL, which then ends all sessions.
 * @returns when they have ended: a session that begins earlier would be lost in the next test
 */
async function kill(pid: number): Promise<void> {
  const witness = await connect();
  const ended = assert.rejects(witness`select pg_sleep(60)`);
  process.kill(pid, "SIGKILL");
  await ended;
}

const backendOf = async (tx: Pick<Sql, "unsafe">): Promise<number> =>
  (await tx.unsafe<{ pid: number }[]>("select pg_backend_pid() as pid"))[0]?.pid ?? assert.fail("no backend");

/** Whatever the client does after its connection is gone has been done. */
async function settle(): Promise<void> {
  for (let turns = 0; turns < 20; turns++) await turn();
}

test("a connection lost during a query fails the transaction, not the process", async () => {
  const sql = await connect();
  let killed: Promise<void> | undefined;
  await assert.rejects(
    sql.begin(async (tx) => {
      const pid = await backendOf(tx);
      setTimeout(() => {
        killed = kill(pid);
      }, 50);
      await tx`select pg_sleep(60)`;
    }),
    { code: "CONNECTION_CLOSED" },
  );
  await killed;
  await settle();
  assert.deepEqual(faults, []);
});

test("rejects the next query of a transaction whose connection was lost", async () => {
  const sql = await connect();
  let goOn: () => void = () => {};
  const mayGoOn = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  let refused: unknown;
  let killed: Promise<void> | undefined;
  await assert.rejects(
    sql.begin(async (tx) => {
      killed = kill(await backendOf(tx));
      await mayGoOn;
      try {
        await tx`select 1`;
      } catch (error) {
        refused = error;
        throw error;
      }
    }),
    { code: "CONNECTION_CLOSED" },
  );
  goOn();
  await killed;
  await settle();
  assert.deepEqual(faults, []);
  assert.match(String(refused), /the connection of this transaction was lost/);
});

test("a transaction terminated by the server fails nothing else", async () => {
  const sql = await connect();
  const other = await connect();
  await assert.rejects(
    sql.begin(async (tx) => {
      const pid = await backendOf(tx);
      setTimeout(() => void other`select pg_terminate_backend(${pid})`.catch(() => {}), 50);
      await tx`select pg_sleep(60)`;
    }),
    ({ code }: { code: string }) => ["57P01", "CONNECTION_CLOSED"].includes(code),
  );
  await settle();
  assert.deepEqual(faults, []);
  assert.equal((await other`select 1 as one`)[0]?.one, 1);
});

test("an error thrown in a transaction rolls back and is passed through", async () => {
  const sql = await connect();
  await sql`create table birds (id int primary key)`;
  await assert.rejects(
    sql.begin(async (tx) => {
      await tx`insert into birds values (1)`;
      throw new RangeError("no more birds");
    }),
    RangeError,
  );
  assert.equal((await sql`select from birds`).length, 0);
  const [first, second] = await sql.begin((tx) => [tx`insert into birds values (1)`, tx`insert into birds values (2)`]);
  assert.deepEqual([first?.count, second?.count], [1, 1]);
});
