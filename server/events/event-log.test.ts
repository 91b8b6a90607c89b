/** The event log on a real database: events of changes of rows, their numbers, subscriptions, and what is removed. */
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { makeConfig } from "../api/app.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, testDatabase } from "../store/database.fixture.ts";
import { insertEventSubscription } from "../store/event-subscriptions.ts";
import { insertEvent, listEvents, numberEvents, readRange, trimEvents } from "../store/events.ts";
import { beginStream, endLostStreams, endStream, findRejection, rejectStream } from "../store/publications.ts";
import type { User } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { addProcess, addUser, idleOutbox } from "../webhooks/webhooks.fixture.ts";
import { EventLog } from "./event-log.ts";

const database = await testDatabase();
const { sql } = database;
after(() => database.close());

async function addSource(user: User, path: string): Promise<string> {
  const uuid = newUuid();
  await sql`
    insert into sources ${sql({
      ...{ uuid, userUuid: user.uuid, alias: path, type: "stream", streamType: "rtsp", hubPath: path },
      ...{ inputUrl: sql.typed.sealed("rtsp://here"), identity: sql.typed.sealed(uuid) },
    })}`;
  return uuid;
}

/** Types of all events, oldest first. */
async function typesOf(user: User): Promise<readonly string[]> {
  await numberAll(sql);
  const { rows } = await listEvents(sql, user.uuid, { after: 0, limit: 1000 });
  assert.deepEqual(
    rows.map(({ seq }) => seq),
    rows.map((_, at) => at + 1),
    "the numbers are 1, 2, 3 and so on",
  );
  return rows.map(({ type }) => type);
}

async function numberAll(sql: Sql): Promise<void> {
  while (await numberEvents(sql, { waits: true }));
}

const STREAM = { protocol: "rtsp", codec: "h264", width: 640, height: 360, hasAudio: false } as const;
const at = new Date("2026-05-17T08:30:00.000Z");

test("every change of a process is one event, and no other change is", async () => {
  const user = await addUser(sql);
  const uuid = await addProcess(sql, user);
  const change = (changes: Record<string, unknown>) =>
    sql`update processes set ${sql(changes as Record<string, string>)} where uuid = ${uuid}`;
  await change({ state: "starting" });
  await change({ startedAt: new Date(), state: "running", runFence: 1 });
  await change({ positionNs: 5 });
  await change({ reconnecting: true });
  await change({ reconnecting: false, state: "waiting" });
  await change({ state: "running" });
  await change({ reconnecting: true });
  await change({ reconnecting: false });
  await change({ restarts: 1, state: "starting", lastError: sql.json({ detail: "it crashed" }) });
  await change({ state: "running" });
  await change({ fence: 2 });
  await change({ runFence: 2 });
  await change({ state: "stopping" });
  await change({ state: "finished", errorCode: "usage_limit_reached", errorDetail: "no minutes" });
  await change({ positionNs: 6 });
  assert.deepEqual(await typesOf(user), [
    ...["process-started", "process-reconnecting", "process-waiting", "process-started"],
    ...["process-reconnecting", "process-reconnected", "process-restarted", "process-restarted", "process-finished"],
  ]);
  const { rows } = await listEvents(sql, user.uuid, { limit: 3 });
  assert.deepEqual(
    rows.map(({ data }) => data),
    [
      { graph: "detect", restarts: 1, error: { code: "usage_limit_reached", detail: "no minutes" } },
      { graph: "detect", restarts: 1, reason: "the server that ran it has ended" },
      { graph: "detect", restarts: 1, reason: "it crashed" },
    ],
  );
});

test("a failed start leaves no event, and one that is removed after it has begun has failed", async () => {
  const user = await addUser(sql);
  const [failed, begun] = [await addProcess(sql, user), await addProcess(sql, user)];
  await sql`update processes set started_at = now() where uuid = ${begun}`;
  await sql`delete from processes where uuid in ${sql([failed, begun])}`;
  assert.deepEqual(await typesOf(user), ["process-started", "process-failed"]);
});

test("streams begin and end in turn, also when their server was killed", async () => {
  const user = await addUser(sql);
  const path = `${user.username}/drone`;
  const sourceUuid = await addSource(user, path);
  const [killed, next] = [newUuid(), newUuid()];
  const rejection = { path, protocol: "rtmp", at } as const;
  await rejectStream(sql, { ...rejection, reason: "This API key does not exist.", isEvent: true });
  await rejectStream(sql, { ...rejection, reason: "Another reason.", isEvent: false });
  assert.equal((await findRejection(sql, sourceUuid))?.reason, "Another reason.");
  await beginStream(sql, { ...STREAM, path, nodeUuid: killed, at });
  assert.equal(await findRejection(sql, sourceUuid), null);
  // Published again before the killed server was noticed.
  await beginStream(sql, { ...STREAM, path, nodeUuid: next, at });
  await endStream(sql, { path, nodeUuid: killed, at, reason: "late" });
  await endStream(sql, { path, nodeUuid: next, at: new Date(at.getTime() + 2500), reason: "the publisher left" });
  await beginStream(sql, { ...STREAM, path, nodeUuid: next, at });
  for (let round = 0; round < 2; round += 1) await endLostStreams(sql, newUuid(), true);
  assert.deepEqual(await typesOf(user), [
    ...["stream-rejected", "stream-began", "stream-ended", "stream-began", "stream-ended"],
    ...["stream-began", "stream-ended"],
  ]);
  const { rows } = await listEvents(sql, user.uuid, { after: 4, limit: 1 });
  assert.deepEqual(rows[0]?.data, { path, protocol: "rtsp", reason: "the publisher left", duration_seconds: 2.5 });
});

test("several nodes that number at once give each number once", async () => {
  const users = await Promise.all(Array.from({ length: 4 }, () => addUser(sql)));
  const writers = users.flatMap((user) =>
    Array.from({ length: 50 }, (_, n) =>
      insertEvent(sql, { userUuid: user.uuid, type: "quota-near", data: { used: n } }),
    ),
  );
  let isOver = false;
  const numbering = Promise.all(
    Array.from({ length: 3 }, async () => {
      while (!isOver) await numberEvents(sql);
    }),
  );
  await Promise.all(writers);
  isOver = true;
  await numbering;
  for (const user of users) assert.equal((await typesOf(user)).length, 50);
});

test("an event with a key is stored once", async () => {
  const user = await addUser(sql);
  const event = { userUuid: user.uuid, type: "quota-near", data: { quota: "minutes" }, key: "minutes 600" } as const;
  await Promise.all([insertEvent(sql, event), insertEvent(sql, event)]);
  assert.deepEqual(await typesOf(user), ["quota-near"]);
});

test("old events and those beyond the limit are removed, and numbers are not used again", async () => {
  const user = await addUser(sql);
  const add = () => insertEvent(sql, { userUuid: user.uuid, type: "quota-near", data: {} });
  for (let n = 0; n < 5; n += 1) await add();
  await numberAll(sql);
  await sql`update events set happened_at = ${at} where user_uuid = ${user.uuid} and seq <= 2`;
  await trimEvents(sql, new Date(at.getTime() + 1), 2);
  assert.deepEqual(await readRange(sql, user.uuid), { first: 4, last: 5 });
  await trimEvents(sql, new Date(), 0);
  await add();
  await numberAll(sql);
  assert.deepEqual(await readRange(sql, user.uuid), { first: 6, last: 6 });
});

test("a page continues where the one before ended", async () => {
  const user = await addUser(sql);
  for (let n = 0; n < 5; n += 1) await insertEvent(sql, { userUuid: user.uuid, type: "quota-near", data: {} });
  await numberAll(sql);
  for (const [after, expected] of [
    [undefined, [5, 4, 3, 2, 1]],
    [1, [2, 3, 4, 5]],
  ] as const) {
    const seen: number[] = [];
    let cursor: string | undefined;
    do {
      const page = await listEvents(sql, user.uuid, { limit: 2, cursor, after });
      seen.push(...page.rows.map(({ seq }) => seq));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    assert.deepEqual(seen, expected);
  }
  await assert.rejects(listEvents(sql, user.uuid, { limit: 2, cursor: "1e3" }), { code: "invalid_input" });
});

test("a subscription gets each event that it asks for once, whichever node queues it", async () => {
  const user = await addUser(sql);
  await insertEvent(sql, { userUuid: user.uuid, type: "stream-began", data: { reason: "before" } });
  await numberAll(sql);
  const destinationUuid = newUuid();
  await sql`
    insert into destinations ${sql({
      ...{ uuid: destinationUuid, userUuid: user.uuid, kind: "webhook" },
      target: sql.typed.sealed({}),
    })}`;
  await sql.begin((transaction) =>
    insertEventSubscription(
      transaction,
      {
        ...{ uuid: newUuid(), userUuid: user.uuid, types: ["stream-began"], sourceUuid: null, sourceUuids: null },
        output: [{ uuid: destinationUuid, type: "webhook", config: { url: "http://127.0.0.1:9/", secret: "" } }],
      },
      10,
    ),
  );
  const logs = [1, 2].map(
    () => new EventLog({ sql, config: makeConfig(), log: silentLog, delivery: idleOutbox, pollMs: 5, sweepMs: 1e8 }),
  );
  for (let n = 0; n < 20; n += 1) {
    await insertEvent(sql, { userUuid: user.uuid, type: "stream-ended", data: {} });
    await insertEvent(sql, { userUuid: user.uuid, type: "stream-began", data: { used: n } });
  }
  const bodies = async () => {
    const rows = await sql<{ body: string }[]>`
      select body from parcels where destination_uuid = ${destinationUuid} order by seq`;
    return rows.map(({ body }) => JSON.parse(body));
  };
  while ((await bodies()).length < 20) await new Promise((resolve) => setTimeout(resolve, 20));
  await Promise.all(logs.map((log) => log.close()));
  assert.deepEqual(
    (await bodies()).map(({ type, data }) => `${type} ${data.used}`),
    Array.from({ length: 20 }, (_, n) => `stream-began ${n}`),
  );
});

test("a clip and an enhancement have one event each when they have ended", async () => {
  const user = await addUser(sql);
  const processUuid = await addProcess(sql, user);
  const sourceUuid = newUuid();
  const clips = [newUuid(), newUuid()];
  for (const uuid of clips) {
    await sql`
      insert into clips (uuid, user_uuid, source_uuid, alias, is_file, from_ms, to_ms)
      values (${uuid}, ${user.uuid}, ${sourceUuid}, 'yard', true, 0, 1000)`;
    await sql`update clips set state = 'rendering' where uuid = ${uuid}`;
    await sql`update clips set progress = 0.5 where uuid = ${uuid}`;
  }
  await sql`update clips set state = 'ready', size_bytes = 9 where uuid = ${clips[0] ?? ""}`;
  await sql`update clips set state = 'failed', error = 'no video' where uuid = ${clips[1] ?? ""}`;
  await sql`insert into enhancements (process_uuid, status, total) values (${processUuid}, 'RUNNING', 2)`;
  await sql`update enhancements set done = 1`;
  await sql`update enhancements set status = 'FINISHED'`;
  await sql`update enhancements set status = 'RUNNING'`;
  await sql`update enhancements set status = 'FAILED', fault = 'it crashed'`;
  assert.deepEqual(await typesOf(user), ["clip-ready", "clip-failed", "enhancement-finished", "enhancement-failed"]);
  const { rows } = await listEvents(sql, user.uuid, { after: 0, limit: 4 });
  assert.deepEqual(
    rows.map(({ sourceUuid: source, processUuid: process, data }) => [source === sourceUuid, process, data]),
    [
      [true, null, { clip_uuid: clips[0] }],
      [true, null, { clip_uuid: clips[1], error: { code: "clip_failed", detail: "no video" } }],
      [false, processUuid, {}],
      [false, processUuid, { error: { code: "enhancement_failed", detail: "it crashed" } }],
    ],
  );
});
