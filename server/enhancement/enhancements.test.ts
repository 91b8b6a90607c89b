import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { paintCar, toPatch } from "../../enhance/painted-car.fixture.ts";
import type { EnhancedData } from "../../schemas/enhancement.ts";
import { poll, until } from "../../test/watch.fixture.ts";
import { makeConfig, makeUser, openApp, type TestApp } from "../api/app.fixture.ts";
import { enhancementEndpoints } from "../api/tracks.ts";
import { testConfinement } from "../confinement/confinement.fixture.ts";
import { ServiceError } from "../service-error.ts";
import { insertUser } from "../sources/sources.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import type { User, UserLimits } from "../user.ts";
import { newUuid } from "../uuid.ts";
import { Enhancements } from "./enhancements.ts";

const ENTRY = new URL("../../enhance/enhance.mjs", import.meta.url);
const NO_ENTRY = new URL("./none.mjs", import.meta.url);
const RED = toPatch(paintCar({ paint: [180, 24, 30], width: 80 }));

let database: TestDatabase;
let sql: Sql;
let enhancements: Enhancements;
let app: TestApp;
const users = new Map<string, User>();

const config = makeConfig();
const limits = { batchTracks: 4, restarts: 1, restart: { firstMs: 100, maxMs: 100 } };

const confinement = await testConfinement();
const open = (entry = ENTRY): Enhancements =>
  new Enhancements({ sql, config, log: silentLog, nodeUuid: newUuid(), isAlone: true, entry, confinement, limits });

/** Of the reported tracks of processes. */
let flush = async (): Promise<void> => {};

before(async () => {
  database = await testDatabase();
  sql = database.sql;
  enhancements = open();
  app = await openApp(
    enhancementEndpoints(sql, { start: (...order) => enhancements.start(...order) }, { flush: () => flush() }),
    {
      config,
      authenticate: async (key) => {
        const user = users.get(key ?? "");
        if (user === undefined) throw new ServiceError("api_key_invalid", { detail: "there is no such key" });
        return user;
      },
    },
  );
});
after(async () => {
  await app?.close(1000);
  await enhancements?.close();
  await database?.close();
});

async function addUser(change: Partial<User> = {}, limits: Partial<UserLimits> = {}): Promise<User> {
  const user = { ...makeUser(`user-${users.size}`, limits), hasEnhancement: true, ...change };
  users.set(user.username, user);
  await insertUser(sql, user);
  return user;
}

async function addProcess({ uuid: userUuid }: User, tracks: number, change: object = {}): Promise<string> {
  const uuid = newUuid();
  await sql`
    insert into processes ${sql({
      ...{ uuid, userUuid, sourceUuid: newUuid(), sourceUrl: "", graph: "detect", params: sql.json({}) },
      ...{ hasTrackLogger: true, desired: "running", state: "finished", ...change },
    })}`;
  await addTracks(uuid, tracks);
  return uuid;
}

async function addTracks(uuid: string, tracks: number): Promise<void> {
  for (let id = 1; id <= tracks; id++) {
    await sql`
      insert into tracks (process_uuid, track_id, class_id, class_name, first_seen, last_seen, sightings,
        best_confidence, mean_confidence, least_confidence, box, is_live)
      values (${uuid}, ${id}, 2, 'car', now(), now(), 1, 0.9, 0.9, 0.9, '[1, 2, 3, 4]', false)`;
    // The second has no picture.
    if (id !== 2)
      await sql`
        insert into track_patches (process_uuid, track_id, seen_at, confidence, jpeg)
        values (${uuid}, ${id}, now(), 0.9, ${Buffer.from(RED, "base64")})`;
  }
}

async function call(user: User, method: string, path: string) {
  const response = await app.call(path, { method, headers: { api_key: user.username } });
  // biome-ignore lint/suspicious/noExplicitAny: what comes back is checked by the schema of its endpoint.
  return { status: response.status, body: (await response.json()) as any };
}

const start = (user: User, uuid: string) => call(user, "POST", `/decorate_tracks/${uuid}`);
const ask = (user: User, uuid: string) => call(user, "GET", `/decorate_tracks/${uuid}/status`);

const awaitEnd = (user: User, uuid: string) =>
  poll("the enhancement has ended", async () => {
    const { body } = await ask(user, uuid);
    return body.status !== "RUNNING" && body;
  });

const readData = (uuid: string) =>
  sql<{ trackId: number; enhancedData: EnhancedData | null }[]>`
    select track_id, enhanced_data from tracks where process_uuid = ${uuid} order by track_id`;

const refused = (reply: { readonly status: number; readonly body: { readonly code?: string } }) => [
  reply.status,
  reply.body.code,
];

test("reports a failed start with 503; another POST starts again and enhances every track", async () => {
  const user = await addUser();
  const uuid = await addProcess(user, 0);
  assert.deepEqual(refused(await ask(user, uuid)), [404, "enhancement_not_found"]);
  // The process has just ended: its last report is not written yet.
  flush = async () => {
    flush = async () => {};
    await addTracks(uuid, 6);
  };
  const good = enhancements;
  enhancements = open(NO_ENTRY);
  try {
    assert.deepEqual(refused(await start(user, uuid)), [503, "enhancement_failed"]);
    const { body } = await ask(user, uuid);
    assert.equal(body.status, "FAILED");
    assert.match(body.detail, /^0 of 6 tracks; the enhancer failed, after track 0: the enhancer ended with code/);
  } finally {
    await enhancements.close();
    enhancements = good;
  }
  // Of two simultaneous requests one starts the job, and both get it.
  const replies = await Promise.all([start(user, uuid), start(user, uuid)]);
  for (const reply of replies) assert.deepEqual(reply, { status: 200, body: { process_uuid: uuid } });
  const [row] = await sql<{ fence: number }[]>`select fence from enhancements where process_uuid = ${uuid}`;
  assert.equal(row?.fence, 2);
  assert.deepEqual(await awaitEnd(user, uuid), { status: "FINISHED", progress: 1, detail: "6 of 6 tracks" });
  const asked = await call(user, "POST", `/decorate_tracks/${uuid}/status`);
  assert.equal(asked.body.status, "FINISHED");
  const data = (await readData(uuid)).map(({ enhancedData }) => enhancedData);
  assert.deepEqual(data[1], { vehicle_type: "car", colour: null, plate: null, attributes: {} });
  for (const one of data.filter((_, index) => index !== 1)) {
    assert.deepEqual([one?.vehicle_type, one?.colour?.name, one?.plate], ["car", "red", null]);
  }
});

test("replaces a killed child, another server continues, and every track is done once", async () => {
  const user = await addUser();
  const uuid = await addProcess(user, 40);
  await sql`create table written (track_id bigint)`;
  await sql`
    create function note_written() returns trigger language plpgsql as
    $$ begin insert into written values (new.track_id); return new; end $$`;
  await sql`
    create trigger note_written after update of enhanced_data on tracks for each row execute function note_written()`;
  await start(user, uuid);
  const doneSoFar = async () =>
    (await sql<{ done: number }[]>`select done from enhancements where process_uuid = ${uuid}`)[0]?.done ?? 0;
  await until(async () => (await doneSoFar()) >= 4);
  const pid = enhancements.pidOf(uuid);
  assert.ok(pid !== undefined);
  process.kill(pid, "SIGKILL");
  await until(async () => enhancements.pidOf(uuid) !== pid && (await doneSoFar()) >= 12);
  await enhancements.close();
  const left = await doneSoFar();
  assert.ok(left < 40, "it was over before the server stopped");
  enhancements = open();
  assert.equal(await enhancements.takeUp(), 1);
  assert.equal((await awaitEnd(user, uuid)).status, "FINISHED");
  const written = await sql<{ trackId: number }[]>`select track_id from written order by track_id`;
  assert.deepEqual(
    written.map(({ trackId }) => trackId),
    Array.from({ length: 40 }, (_, index) => index + 1),
  );
  await sql`drop trigger note_written on tracks`;
});

test("rejects a wrong key, a key without enhancement, at the process limit, and without minutes", async () => {
  const user = await addUser({}, { processes: 1 });
  const uuid = await addProcess(user, 1);
  assert.deepEqual(refused(await start({ ...user, username: "nobody" }, uuid)), [403, "api_key_invalid"]);
  users.set(user.username, { ...user, hasEnhancement: false });
  assert.deepEqual(refused(await start(user, uuid)), [403, "enhancement_not_enabled"]);
  users.set(user.username, user);
  const running = await addProcess(user, 0, { state: "running" });
  assert.deepEqual(refused(await start(user, uuid)), [403, "processes_limit_reached"]);
  assert.deepEqual(refused(await start(user, running)), [409, "wrong_state"]);
  await sql`update users set allocated_ms = 0 where uuid = ${user.uuid}`;
  assert.deepEqual(refused(await start(user, uuid)), [403, "usage_limit_reached"]);
  assert.deepEqual(refused(await ask(user, uuid)), [404, "enhancement_not_found"]);
});

test("rejects a process without a report, or of another user", async () => {
  const [user, other] = [await addUser(), await addUser()];
  assert.deepEqual(refused(await start(user, newUuid())), [404, "process_not_found"]);
  assert.deepEqual(refused(await start(other, await addProcess(user, 1))), [404, "process_not_found"]);
  const unlogged = await addProcess(user, 0, { hasTrackLogger: false });
  const deleted = await addProcess(user, 0, { reportDeletedAt: new Date() });
  for (const uuid of [unlogged, deleted])
    for (const reply of [await start(user, uuid), await ask(user, uuid)])
      assert.deepEqual(refused(reply), [404, "report_not_found"]);
});
