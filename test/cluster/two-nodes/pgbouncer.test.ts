/** Nodes that reach the database through PgBouncer in transaction mode, with fewer connections than nodes need at once. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { setTimeout as wait } from "node:timers/promises";
import type { SourceRecord } from "../../../schemas/api/sources.ts";
import { connectClient, DatabaseFault } from "../../../server/store/client.ts";
import { DATABASE_LIMITS, silentLog, testPostgres } from "../../../server/store/database.fixture.ts";
import { openDatabase, readDatabaseUrl } from "../../../server/store/database.ts";
import { testKeyring } from "../../../server/store/sealing/test-key.fixture.ts";
import { uploadVideo } from "../../api/service.fixture.ts";
import { makeClip, temporaryFolder } from "../../graph.fixture.ts";
import { openPgBouncer, pgbouncerIsMissing } from "../../pgbouncer.fixture.ts";
import { until } from "../../watch.fixture.ts";
import { listNodes, read, start } from "../cluster.fixture.ts";
import { databaseUrl, first, bouncer as found, second, yard } from "./two-nodes.fixture.ts";

const KEY = "ab".repeat(32);
/** Connections to PostgreSQL: statements of a client meet sessions of others all the time. */
const SESSIONS = "2";
/** Turns a hang into a failure. */
const LIMIT_MS = 30_000;

describe("through PgBouncer", { skip: pgbouncerIsMissing }, () => {
  if (found === null) return;
  const bouncer = found;

  test("sessions have the time limits of the shipped configuration, and UTC", async () => {
    // Without the nodes, which would let some of so many transactions wait for too long on a busy machine.
    const { url } = await openPgBouncer(databaseUrl, { default_pool_size: SESSIONS, query_wait_timeout: "60" });
    const sql = connectClient(readDatabaseUrl(url), DATABASE_LIMITS, silentLog, testKeyring);
    after(() => sql.end());
    const [row] = await sql`
      select current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
        current_setting('TimeZone') as zone, current_setting('application_name') as name`;
    assert.deepEqual(row, { statement: "10s", lock: "10s", zone: "UTC", name: "windhover" });
    // The same statements in parallel transactions: named statements would be missing in some sessions, or exist twice.
    const sums = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        sql.begin(async (tx) => {
          const [sum] = await tx<{ sum: number }[]>`select ${i}::int + ${1}::int as sum`;
          const [twice] = await tx<{ twice: number }[]>`select ${sum?.sum ?? 0}::int * ${2}::int as twice`;
          return twice?.twice;
        }),
      ),
    );
    assert.deepEqual(
      sums,
      sums.map((_, i) => (i + 1) * 2),
    );
  });

  test("every statement is answered, however many wait for a connection", async () => {
    const { url } = await openPgBouncer(databaseUrl, { default_pool_size: SESSIONS, query_wait_timeout: "60" });
    const sql = connectClient(readDatabaseUrl(url), { ...DATABASE_LIMITS, connections: 2 }, silentLog, testKeyring);
    after(() => sql.end({ timeout: 0 }));
    const answered = (async () => {
      for (let round = 0; round < 50; round++)
        await Promise.all(Array.from({ length: 10 }, (_, i) => (i % 2 === 0 ? sql`select 1` : sql`select ${i}::int`)));
      return true;
    })();
    const isOver = wait(LIMIT_MS, false, { ref: false });
    assert.ok(await Promise.race([answered, isOver]), "statements have no answer");
  });

  test("without pgbouncer=true the start is rejected with the reason", async () => {
    const url = bouncer.url.replace("?pgbouncer=true", "");
    const config = { database: { ...DATABASE_LIMITS, url }, data_dir: "", secrets: { key: KEY, key_file: null } };
    await assert.rejects(
      openDatabase(config, silentLog),
      (error) => error instanceof DatabaseFault && /add pgbouncer=true to DATABASE_URL/.test(error.message),
    );
  });

  test("a start waits for a database that PgBouncer cannot reach yet", async () => {
    const ended = await testPostgres();
    await ended.close();
    const { url } = await openPgBouncer(ended.url);
    const database = { ...DATABASE_LIMITS, url, start_seconds: 3 };
    const config = { database, data_dir: "", secrets: { key: KEY, key_file: null } };
    await assert.rejects(
      openDatabase(config, silentLog),
      (error) => error instanceof DatabaseFault && /did not respond within 3 s/.test(error.message),
    );
  });

  test("two nodes upload, start, read and stop; they continue after a restart of PgBouncer", async () => {
    const nodes = [first, second];
    const video = await uploadVideo(first, await makeClip(temporaryFolder(), 25, "width=64&height=48"));
    assert.equal((await second.expect<SourceRecord>(200, "GET", `/source/${video.uuid}`)).uuid, video.uuid);
    const { process_uuid: uuid } = await start(first, yard.uuid);
    await Promise.all(nodes.flatMap((node) => Array.from({ length: 20 }, () => node.expect(200, "GET", "/sources"))));
    assert.equal((await read(second, uuid)).state, "running");

    await bouncer.kill();
    await until(async () => (await first.send("GET", "/readyz", { key: null })).status === 503);
    await first.expect(200, "GET", "/healthz", { key: null });
    await bouncer.start();
    for (const node of nodes)
      await until(async () => (await node.send("GET", "/readyz", { key: null })).status === 200);
    assert.equal((await read(second, uuid)).state, "running");

    await second.expect(200, "POST", `/process/${uuid}/stop`);
    await until(async () => (await read(first, uuid)).state === "finished");
    // For the tests after this one.
    await until(async () => (await listNodes(first)).nodes.filter(({ state }) => state === "live").length === 2);
  });
});
