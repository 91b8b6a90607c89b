import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { pino } from "pino";
import { connectClient, DatabaseFault, type Sql } from "./client.ts";
import { DATABASE_LIMITS, silentLog, testPostgres } from "./database.fixture.ts";
import { openDatabase, readDatabaseUrl } from "./database.ts";
import { isMarked, migrate, planMigrations, readMigrations } from "./migrate.ts";
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

const apply = async (migrations: readonly (typeof first)[], isShared = false) =>
  (await migrate(sql, { migrations, isShared })).applied;

/** Each test begins with nothing. */
async function clear(): Promise<void> {
  await sql`drop schema public cascade`;
  await sql`create schema public`;
}

test("the migrations create every table, once", async () => {
  await clear();
  const all = await readMigrations();
  assert.deepEqual(
    (await migrate(sql)).applied,
    all.map(({ name }) => name),
  );
  assert.deepEqual(await migrate(sql), { applied: [], newer: [] });
  assert.ok((await tableNames()).includes("processes"));
});

test("of several servers that migrate at once, one does", async () => {
  await clear();
  const others = await Promise.all([1, 2, 3, 4].map(() => apply([first, second])));
  assert.deepEqual(
    others.filter((applied) => applied.length > 0),
    [["001-first.sql", "002-second.sql"]],
  );
  assert.deepEqual([...(await sql`select * from birds`)], [{ name: "kestrel", wings: 2 }]);
});

test("applies only new migrations", async () => {
  await clear();
  assert.deepEqual(await apply([first]), ["001-first.sql"]);
  assert.deepEqual(await apply([first, second]), ["002-second.sql"]);
});

test("a failed migration rolls back those before it", async () => {
  await clear();
  await assert.rejects(apply([first, { name: "002-bad.sql", text: "create table x (); select nonsense;" }]));
  assert.deepEqual(await tableNames(), []);
});

test("rejects a changed migration, one of a newer version, and one out of order", async () => {
  await clear();
  await apply([first, second]);
  const refused = async (migrations: Parameters<typeof apply>[0], words: RegExp) =>
    assert.rejects(apply(migrations), (error) => error instanceof DatabaseFault && words.test(error.message));
  await refused([{ ...first, text: `${first.text} ` }, second], /001-first\.sql .*changed/);
  await refused([first], /newer Windhover.* 002-second\.sql/);
  await refused([first, { name: "001-late.sql", text: "" }, second], /001-late\.sql comes before 002-second\.sql/);
});

test("plans all migrations for an empty database", () => {
  assert.deepEqual(planMigrations([first, second], []), { due: [first, second], newer: [] });
});

const additive = { name: "002-more.sql", text: "-- additive\nalter table birds add column wings int default 2;" };
const breaking = {
  name: "003-less.sql",
  text: "-- breaking: older servers read it\nalter table birds drop column name;",
};

test("an older server accepts additive migrations of a newer one, and rejects breaking ones", async () => {
  await clear();
  await apply([first, additive]);
  assert.deepEqual(await migrate(sql, { migrations: [first] }), { applied: [], newer: ["002-more.sql"] });
  await apply([first, additive, breaking]);
  await assert.rejects(
    apply([first]),
    (error) => error instanceof DatabaseFault && /does not know the migration 003-less\.sql/.test(error.message),
  );
});

test("a server starts on a database with additive migrations of a newer one, and logs them", async () => {
  await clear();
  await migrate(sql);
  await sql`insert into migrations (name, sha256, is_additive) values ('999-next.sql', '', true)`;
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line: string) => void lines.push(line) });
  const database = { ...DATABASE_LIMITS, url: postgres.url };
  const opened = await openDatabase({ database, data_dir: "", secrets: { key: "ab".repeat(32), key_file: null } }, log);
  await opened.close();
  assert.match(lines.join(""), /"newer":\["999-next\.sql"\],"msg":"database has additive migrations/);
});

test("a database from before the marks accepts further migrations", async () => {
  await clear();
  await apply([first]);
  await sql`alter table migrations drop column is_additive`;
  assert.deepEqual(await apply([first, additive]), ["002-more.sql"]);
  assert.deepEqual(
    [...(await sql`select name, is_additive from migrations order by name`)],
    [
      { name: "001-first.sql", isAdditive: false },
      { name: "002-more.sql", isAdditive: true },
    ],
  );
});

test("a breaking migration is rejected while other servers run; an additive one is not", async () => {
  await clear();
  await migrate(sql);
  const all = await readMigrations();
  const next = { name: "900-next.sql", text: "-- additive\ncreate table birds (name text);" };
  await sql`insert into nodes (uuid, lease_until) values (gen_random_uuid(), now() + interval '1 hour')`;
  assert.deepEqual(await apply([...all, next], true), ["900-next.sql"]);
  const last = { ...breaking, name: "901-last.sql" };
  await assert.rejects(
    apply([...all, next, last], true),
    (error) =>
      error instanceof DatabaseFault && /901-last\.sql .*1 of an older version are running/.test(error.message),
  );
  await sql`update nodes set lease_until = now() - interval '1 second'`;
  assert.deepEqual(await apply([...all, next, last], true), ["901-last.sql"]);
});

test("every migration since 016 is marked as additive or breaking in its first line", async () => {
  const unmarked = (await readMigrations()).filter(({ name, text }) => name >= "016" && !isMarked(text));
  assert.deepEqual(
    unmarked.map(({ name }) => name),
    [],
  );
});
