import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { newUuid } from "../uuid.ts";
import type { Sql } from "./client.ts";
import { type TestDatabase, testDatabase } from "./database.fixture.ts";
import { listEvents, numberEvents } from "./events.ts";
import { listChildSubscriptions, readSubscription, writeUsage } from "./users.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await testDatabase();
  sql = database.sql;
});
after(() => database.close());

async function insertUser(username: string, allocatedMs: number | null, masterUuid: string | null = null) {
  const uuid = newUuid();
  await sql`
    insert into users ${sql({
      ...{ uuid, username, masterUuid, product: "standard", keyId: uuid, keySha256: Buffer.alloc(32), allocatedMs },
      ...{ hasTrackLogger: false, hasRecording: false, hasEnhancement: false, isGraphAuthor: false },
    })}`;
  return uuid;
}

async function insertProcess(userUuid: string, fence: number) {
  const uuid = newUuid();
  await sql`
    insert into processes ${sql({
      ...{ uuid, userUuid, fence, sourceUuid: newUuid(), sourceUrl: "rtsp://camera", graph: "detect" },
      ...{ params: sql.json({}), hasTrackLogger: false, desired: "running", state: "running" },
    })}`;
  return uuid;
}

test("counts usage once however often it is written, and never decreases it", async () => {
  const user = await insertUser("counted", 60_000);
  const processUuid = await insertProcess(user, 1);
  for (const runningMs of [1000, 5000.4, 5000.4, 3000]) await writeUsage(sql, [{ processUuid, fence: 1, runningMs }]);
  assert.equal((await readSubscription(sql, user))?.remainingMs, 55_000);
});

test("adds up successive claims, and ignores writes of an earlier owner", async () => {
  const user = await insertUser("fenced", 60_000);
  const processUuid = await insertProcess(user, 1);
  await writeUsage(sql, [{ processUuid, fence: 1, runningMs: 1000 }]);
  await sql`update processes set fence = 2 where uuid = ${processUuid}`;
  await writeUsage(sql, [{ processUuid, fence: 2, runningMs: 2000 }]);
  await writeUsage(sql, [{ processUuid, fence: 1, runningMs: 9000 }]);
  assert.equal((await readSubscription(sql, user))?.consumedMs, 3000);
});

test("writes many processes at once, each for its own user", async () => {
  const users = await Promise.all(["many-a", "many-b"].map((name) => insertUser(name, 1000)));
  const processes = await Promise.all([0, 1, 0, 1].map((i) => insertProcess(users[i] ?? "", 1)));
  const entries = processes.map((processUuid, i) => ({ processUuid, fence: 1, runningMs: 10 ** i }));
  await writeUsage(sql, [...entries, { processUuid: newUuid(), fence: 1, runningMs: 5 }]);
  await writeUsage(sql, []);
  const consumed = await Promise.all(users.map(async (user) => (await readSubscription(sql, user))?.consumedMs));
  assert.deepEqual(consumed, [101, 1010]);
});

test("the remaining time is never negative, and null if unlimited", async () => {
  const [spent, boundless] = [await insertUser("spent", 1000), await insertUser("boundless", null)];
  for (const user of [spent, boundless]) {
    await writeUsage(sql, [{ processUuid: await insertProcess(user, 1), fence: 1, runningMs: 1500 }]);
  }
  assert.equal((await readSubscription(sql, spent))?.remainingMs, 0);
  assert.equal((await readSubscription(sql, boundless))?.remainingMs, null);
  assert.equal((await readSubscription(sql, boundless))?.consumedMs, 1500);
  assert.equal(await readSubscription(sql, newUuid()), null);
});

test("lists the children of a master that are not revoked", async () => {
  const master = await insertUser("parent", 0);
  await insertUser("kid-b", 2000, master);
  await insertUser("kid-a", null, master);
  const gone = await insertUser("kid-c", 1, master);
  await sql`update users set revoked_at = now() where uuid = ${gone}`;
  const rows = (await listChildSubscriptions(sql, master)).map(({ username, remainingMs }) => [username, remainingMs]);
  assert.deepEqual(rows, [
    ["kid-a", null],
    ["kid-b", 2000],
  ]);
});

test("an event says when nine tenths of the minutes are used, once, also when the process has ended since", async () => {
  const user = await insertUser("near", 600_000);
  const near = async () => {
    while (await numberEvents(sql, { waits: true }));
    return (await listEvents(sql, user, { limit: 10 })).rows.map(({ type, data }) => [type, data]);
  };
  const [first, second] = [await insertProcess(user, 1), await insertProcess(user, 1)];
  await writeUsage(sql, [{ processUuid: first, fence: 1, runningMs: 500_000 }]);
  await writeUsage(sql, [{ processUuid: first, fence: 1, runningMs: 510_000 }]);
  await writeUsage(sql, [{ processUuid: second, fence: 1, runningMs: 29_999 }]);
  assert.deepEqual(await near(), []);
  await writeUsage(sql, [{ processUuid: second, fence: 1, runningMs: 30_000 }]);
  const expected = ["quota-near", { quota: "minutes", used: 9, limit: 10 }];
  assert.deepEqual(await near(), [expected]);
  await writeUsage(sql, [{ processUuid: first, fence: 1, runningMs: 700_000 }]);
  assert.deepEqual(await near(), [expected]);
  await sql`update users set allocated_ms = 1200000 where uuid = ${user}`;
  await writeUsage(sql, [{ processUuid: first, fence: 1, runningMs: 1_100_000 }]);
  assert.deepEqual((await near())[0], ["quota-near", { quota: "minutes", used: 18.83, limit: 20 }]);
});
