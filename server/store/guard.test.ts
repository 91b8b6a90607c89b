import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ServiceError } from "../service-error.ts";
import { Clients, connectClient } from "./client.ts";
import { DATABASE_LIMITS, silentLog, testPostgres } from "./database.fixture.ts";
import { readDatabaseUrl } from "./database.ts";
import { type Guard, guardSql } from "./guard.ts";
import { testKeyring } from "./sealing/test-key.fixture.ts";

let postgres: Awaited<ReturnType<typeof testPostgres>>;
const opened: Clients[] = [];
before(async () => {
  postgres = await testPostgres();
});
after(async () => {
  await Promise.all(opened.map((clients) => clients.end()));
  await postgres.close();
});

function open(guard: Partial<Guard> = {}, limits: Partial<typeof DATABASE_LIMITS> = {}) {
  const address = readDatabaseUrl(postgres.url);
  const clients = new Clients(
    () => connectClient(address, { ...DATABASE_LIMITS, ...limits }, silentLog, testKeyring),
    60_000,
  );
  opened.push(clients);
  return guardSql(clients, { whenUp: () => null, waitMs: 60_000, limitMs: 60_000, ...guard });
}

const hasCode = (code: string) => (error: unknown) => error instanceof Error && "code" in error && error.code === code;
const unavailable = (error: unknown) => error instanceof ServiceError && error.code === "database_unavailable";

test("passes all features of the client through", async () => {
  const { sql } = open();
  await sql`create table birds (id bigint primary key, wing_span numeric, seen_at timestamptz(3), notes jsonb)`;
  const at = new Date("2030-01-02T03:04:05.678Z");
  const rows = [1, 2, 3].map((id) => ({ id, wingSpan: 0.5, seenAt: at, notes: sql.json({ snake_key: id }) }));
  await sql`insert into birds ${sql(rows)}`;
  const which = sql`where id in ${sql([1, 2])}`;
  assert.deepEqual(
    [...(await sql`select id, seen_at, notes from birds ${which} order by id`)],
    [1, 2].map((id) => ({ id, seenAt: at, notes: { snake_key: id } })),
  );
  assert.deepEqual([...(await sql`select id from birds where id in ${sql([3])}`.values())], [[3]]);
  const seen: number[] = [];
  for await (const [row] of sql<{ id: number }[]>`select id from birds order by id`.cursor(1)) seen.push(row?.id ?? 0);
  assert.deepEqual(seen, [1, 2, 3]);
  assert.equal(await sql.begin(async (tx) => (await tx`update birds set wing_span = 1`).count), 3);
});

test("passes errors of queries through unchanged", async () => {
  const { sql } = open();
  await sql`create table nests (id int primary key)`;
  await sql`insert into nests values (1)`;
  await assert.rejects(sql`insert into nests values (1)`, hasCode("23505"));
  await assert.rejects(
    sql.begin((tx) => tx`insert into nests values (1)`),
    hasCode("23505"),
  );
  await assert.rejects(sql`select nonsense`, hasCode("42703"));
  await assert.rejects(sql`select 9007199254740993::bigint`, /does not fit into a number/);
});

test("the database cancels a statement that takes too long", async () => {
  const { sql } = open({}, { statement_seconds: 0.1 });
  await assert.rejects(sql`select pg_sleep(60)`, unavailable);
});

test("abandons a connection that does not respond, and uses another for the next query", async () => {
  const { sql } = open({ limitMs: 500 }, { connections: 2 });
  const [{ pid = 0 } = {}] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`;
  process.kill(pid, "SIGSTOP");
  try {
    let failures = 0;
    for (;;) {
      const outcome = await sql`select 1`.then(
        () => null,
        (error: unknown) => error,
      );
      if (outcome === null && failures > 0) break;
      if (outcome === null) continue;
      assert.ok(unavailable(outcome));
      failures++;
    }
    assert.equal(failures, 1);
  } finally {
    process.kill(pid, "SIGCONT");
  }
});

test("a query waits for a database that starts, within a limit", async () => {
  let raise = () => {};
  const up = new Promise<void>((resolve) => {
    raise = resolve;
  });
  const { sql, settle } = open({ whenUp: () => up });
  let isAnswered = false;
  const query = sql`select 1`.then(() => {
    isAnswered = true;
  });
  await new Promise(setImmediate);
  assert.equal(isAnswered, false);
  raise();
  await settle(60_000);
  await query;
  const { sql: impatient } = open({ whenUp: () => new Promise(() => {}), waitMs: 20 });
  await assert.rejects(impatient`select 1`, unavailable);
  await assert.rejects(
    impatient.begin((tx) => tx`select 1`),
    unavailable,
  );
});
