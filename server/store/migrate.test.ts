import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { connectClient, DatabaseFault, type Sql } from "./client.ts";
import { DATABASE_LIMITS, silentLog, testPostgres } from "./database.fixture.ts";
import { readDatabaseUrl } from "./database.ts";
import { migrate, planMigrations, readMigrations } from "./migrate.ts";
import { testKeyring } from "./sealing/test-key.fixture.ts";

let postgres: Awaited<ReturnType<typeof testPostgres>>;
let sql: Sql;
before(async () => {
  postgres = await testPostgres();
  sql = connectClient(readDatabaseUrl(postgres.url), DATABASE_LIMITS, silentLog, testKeyring);
});
after(async () => {
  await sql.end();
  await postgres.close();
});

const first = { name: "001-first.sql", text: "create table birds (name text); insert into birds values ('kestrel');" };
const second = { name: "002-second.sql", text: "alter table birds add column wings int default 2;" };

const tableNames = async () =>
  (await sql<{ name: string }[]>`select tablename as name from pg_tables where schemaname = 'public' order by 1`).map(
    ({ name }) => name,
  );

/** Each test begins with nothing. */
async function clear(): Promise<void> {
  await sql`drop schema public cascade`;
  await sql`create schema public`;
}

test("the migrations create every table, once", async () => {
  await clear();
  const all = await readMigrations();
  assert.deepEqual(
    await migrate(sql),
    all.map(({ name }) => name),
  );
  assert.deepEqual(await migrate(sql), []);
  assert.ok((await tableNames()).includes("processes"));
});

test("of several servers that migrate at once, one does", async () => {
  await clear();
  const others = await Promise.all([1, 2, 3, 4].map(() => migrate(sql, [first, second])));
  assert.deepEqual(
    others.filter((applied) => applied.length > 0),
    [["001-first.sql", "002-second.sql"]],
  );
  assert.deepEqual([...(await sql`select * from birds`)], [{ name: "kestrel", wings: 2 }]);
});

test("applies only new migrations", async () => {
  await clear();
  assert.deepEqual(await migrate(sql, [first]), ["001-first.sql"]);
  assert.deepEqual(await migrate(sql, [first, second]), ["002-second.sql"]);
});

test("a failed migration rolls back those before it", async () => {
  await clear();
  await assert.rejects(migrate(sql, [first, { name: "002-bad.sql", text: "create table x (); select nonsense;" }]));
  assert.deepEqual(await tableNames(), []);
});

test("rejects a changed migration, one of a newer version, and one out of order", async () => {
  await clear();
  await migrate(sql, [first, second]);
  const refused = async (migrations: Parameters<typeof migrate>[1], words: RegExp) =>
    assert.rejects(migrate(sql, migrations), (error) => error instanceof DatabaseFault && words.test(error.message));
  await refused([{ ...first, text: `${first.text} ` }, second], /001-first\.sql .*changed/);
  await refused([first], /newer Windhover.* 002-second\.sql/);
  await refused([first, { name: "001-late.sql", text: "" }, second], /001-late\.sql comes before 002-second\.sql/);
});

test("plans all migrations for an empty database", () => {
  assert.deepEqual(planMigrations([first, second], []), [first, second]);
});
