import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { NewTracksNotification, TargetCountNotification } from "../../schemas/api/webhooks.ts";
import type { TrackEntry } from "../../schemas/detection-message.ts";
import { makeConfig } from "../api/app.fixture.ts";
import type { ProcessListener } from "../processes/process.ts";
import { openStage as openSupervisor } from "../processes/supervisor.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { FakeProcess, idleOutbox, Stage } from "./webhooks.fixture.ts";
import { Webhooks } from "./webhooks.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await testDatabase();
  sql = database.sql;
});
after(() => database?.close());

const HOUR_MS = 3_600_000;
const checkNewTracks = checkBy(NewTracksNotification);
const checkTargetCount = checkBy(TargetCountNotification);

async function openStage(parts: Parameters<typeof Stage.open>[1] = {}): Promise<Stage> {
  const stage = await Stage.open(sql, parts);
  after(() => stage.close());
  return stage;
}

/** The next server claims the process. */
async function claimAgain(stage: Stage, { row, fence }: FakeProcess, nextTrackId: number) {
  await sql`update processes set fence = ${fence + 1} where uuid = ${row.uuid}`;
  const next = await openStage({ user: stage.user });
  const process = new FakeProcess(row.uuid, { nextTrackId, fence: fence + 1 });
  next.webhooks.follow(process);
  return { next, process };
}

const rowsOf = async ({ row }: FakeProcess): Promise<number> =>
  (await sql`select from subscriptions where process_uuid = ${row.uuid}`).count;

test("sends the first tracks at once, and amends one delivery with those of the interval", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process, "new-tracks", { format: "full" });
  process.show(4);
  await stage.webhooks.flush();
  for (const ids of [[4, 5], [4], [3, 4, 6]]) {
    process.show(...ids);
    await stage.webhooks.flush();
  }
  const [first, second, ...rest] = await stage.deliveries(uuid);
  assert.deepEqual([rest, await stage.sentIds(uuid)], [[], [[4], [5, 3, 6]]]);
  assert.deepEqual([first?.isOpen, second?.isOpen], [false, true]);
  assert.equal((second?.dueMs ?? 0) - (first?.dueMs ?? 0) >= HOUR_MS, true);
  for (const stored of [first, second]) {
    assert.deepEqual(checkNewTracks(stored?.body), []);
    assert.equal(stored?.body.id, stored?.id);
  }
});

test("stores nothing for frames without new tracks", async () => {
  let written = 0;
  const counting: typeof idleOutbox = {
    ...idleOutbox,
    enqueue: async (sql, deliveries) => {
      written += deliveries.length;
      await idleOutbox.enqueue(sql, deliveries);
    },
    amend: async (sql, amended) => {
      written += 1;
      return idleOutbox.amend(sql, amended);
    },
  };
  const stage = await openStage({ delivery: counting });
  const process = await stage.process();
  await stage.subscribe(process);
  await stage.subscribe(process, "target-count");
  for (let frame = 0; frame < 20; frame += 1) {
    process.show(1, 2);
    await stage.webhooks.flush();
  }
  assert.equal(written, 2);
});

test("stores the rest an interval later when a delivery was sent before it could be amended", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process);
  process.show(1);
  await stage.webhooks.flush();
  process.show(2);
  await stage.webhooks.flush();
  // It is being sent.
  await sql`update parcels set is_open = false where destination_uuid = ${uuid}`;
  process.show(3, 4);
  await stage.webhooks.flush();
  await stage.webhooks.flush();
  assert.deepEqual(await stage.sentIds(uuid), [[1], [2], [3, 4]]);
  const [, second, third] = await stage.deliveries(uuid);
  assert.equal((third?.dueMs ?? 0) - (second?.dueMs ?? 0) >= HOUR_MS, true);
});

test("stores a count when it is due, without another frame, and never a reverted change", async () => {
  const stage = await openStage();
  const [wavering, lasting] = [await stage.process(), await stage.process()];
  const slow = await stage.subscribe(wavering, "target-count");
  const quick = await stage.subscribe(lasting, "target-count", { backoffSeconds: 0.3, format: "full" });
  for (const ids of [[], [1, 2], [1, 2, 3], [1, 2]]) {
    wavering.show(...ids);
    await stage.webhooks.flush();
  }
  lasting.show(1, 2);
  await stage.webhooks.flush();
  const first = await stage.arrive(quick);
  lasting.show(1);
  await eventually(async () => (await stage.deliveries(quick)).length === 1, "the second count");
  wavering.end();
  await eventually(async () => (await rowsOf(wavering)) === 0, "its subscription is gone");
  const read = (stored: Awaited<ReturnType<Stage["deliveries"]>>) => {
    const bodies = stored.map(({ body }) => body);
    for (const body of bodies) assert.deepEqual(checkTargetCount(body), []);
    return bodies.map((body) => [body.track_count, "previous_count" in body && body.previous_count]);
  };
  assert.deepEqual(read(await stage.deliveries(slow)), [[2, 0]]);
  assert.deepEqual(read([...first, ...(await stage.deliveries(quick))]), [
    [2, 0],
    [1, 2],
  ]);
});

test("amends the waiting delivery and sends only the last count while a receiver is offline", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const tracks = await stage.subscribe(process, "new-tracks", { backoffSeconds: 0.1 });
  const counts = await stage.subscribe(process, "target-count", { backoffSeconds: 0.1 });
  const shown = [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [4]];
  for (const ids of shown) {
    process.show(...ids);
    await stage.webhooks.flush();
    const dueMs = (await stage.deliveries(tracks)).at(-1)?.dueMs ?? 0;
    await eventually(() => Date.now() > dueMs, "its time has come");
  }
  assert.deepEqual(await stage.sentIds(tracks), [[1], [2, 3, 4]]);
  const countsOf = async () => (await stage.deliveries(counts)).map(({ body }) => body.track_count);
  assert.deepEqual(await countsOf(), [1]);
  await stage.arrive(counts);
  process.show(4, 5, 6);
  await eventually(async () => (await stage.deliveries(counts)).length > 0, "the count of now");
  assert.deepEqual(await countsOf(), [3]);
  process.show(6);
  process.end();
  await eventually(async () => (await rowsOf(process)) === 0, "its subscriptions are gone");
  assert.deepEqual(await countsOf(), [3, 1]);
});

test("loses nothing when the server is killed, and repeats nothing on the next server", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const tracks = await stage.subscribe(process);
  const counts = await stage.subscribe(process, "target-count");
  for (const ids of [[1, 2], [3]]) {
    process.show(...ids);
    await stage.webhooks.flush();
  }
  // Killed, without a clean shutdown.
  const { next, process: again } = await claimAgain(stage, process, 1004);
  again.show(1004, 1005);
  await next.webhooks.flush();
  assert.deepEqual(await next.sentIds(tracks), [[1, 2], [3], [1004, 1005]]);
  const dues = (await next.deliveries(tracks)).map(({ dueMs }) => dueMs);
  for (const [at, dueMs] of dues.slice(1).entries()) assert.ok(dueMs - (dues[at] ?? 0) >= HOUR_MS);
  // The count is the same as before.
  assert.equal((await next.deliveries(counts)).length, 1);
  // The one that was seen just before counts for nothing, the last one does.
  again.show(1004);
  again.end();
  await next.webhooks.flush();
  const sent = (await next.deliveries(counts)).map(({ body }) => [
    body.track_count,
    "previous_count" in body && body.previous_count,
  ]);
  assert.deepEqual(sent, [
    [2, 0],
    [1, 2],
  ]);
});

test("sends the rest at once and deletes the subscriptions when the process ends", async () => {
  const stage = await openStage();
  for (const state of ["finished", "failed"] as const) {
    const process = await stage.process();
    const tracks = await stage.subscribe(process);
    const counts = await stage.subscribe(process, "target-count");
    process.show(1);
    await stage.webhooks.flush();
    process.show(2, 3);
    await stage.webhooks.flush();
    process.show(2, 4, 5);
    process.end(state);
    await eventually(async () => (await rowsOf(process)) === 0, "its subscriptions are gone");
    assert.deepEqual(await stage.sentIds(tracks), [[1], [2, 3, 4, 5]]);
    const sent = (await stage.deliveries(counts)).map(({ body }) => body.track_count);
    assert.deepEqual(sent, [1, 3]);
    for (const uuid of [tracks, counts]) {
      for (const { dueMs } of await stage.deliveries(uuid)) assert.ok(dueMs <= Date.now());
      const [destination] = await sql<{ isClosed: boolean }[]>`select is_closed from destinations where uuid = ${uuid}`;
      assert.equal(destination?.isClosed, true);
    }
  }
});

test("leaves subscriptions and collected tracks to the next server", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process);
  process.show(1);
  await stage.webhooks.flush();
  process.show(2);
  process.halt();
  await stage.webhooks.close();
  assert.deepEqual([await stage.sentIds(uuid), await rowsOf(process)], [[[1], [2]], 1]);
});

test("keeps messages that arrive before the subscriptions are loaded", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process);
  const { next, process: again } = await claimAgain(stage, process, 1);
  again.show(7);
  again.show(8);
  await next.webhooks.flush();
  assert.deepEqual(await next.sentIds(uuid), [[7, 8]]);
});

test("collects everything in one delivery while the database fails, and stores it afterwards", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process, "new-tracks", { backoffSeconds: 0 });
  await sql`alter table parcels rename to parcels_moved`;
  try {
    for (const id of [1, 2, 3]) {
      process.show(id);
      await stage.webhooks.flush();
    }
  } finally {
    await sql`alter table parcels_moved rename to parcels`;
  }
  await eventually(async () => (await stage.deliveries(uuid)).length > 0, "it is written");
  assert.deepEqual(await stage.sentIds(uuid), [[1, 2, 3]]);
});

test("does not repeat a commit whose answer was lost", async () => {
  let losesAnswers = false;
  const lossy = new Proxy(sql, {
    get: (target, name) =>
      name !== "begin"
        ? Reflect.get(target, name)
        : async (work: Parameters<Sql["begin"]>[0]) => {
            const result = await (target.begin as (work: unknown) => Promise<unknown>)(work);
            if (losesAnswers) throw new Error("the connection is lost");
            return result;
          },
  });
  const stage = await Stage.open(lossy);
  after(() => stage.close());
  const process = await stage.process();
  const tracks = await stage.subscribe(process);
  const counts = await stage.subscribe(process, "target-count");
  for (const ids of [[1], [1, 2], [1, 2, 3]]) {
    losesAnswers = true;
    process.show(...ids);
    await stage.webhooks.flush();
    losesAnswers = false;
    await stage.webhooks.flush();
  }
  await stage.webhooks.flush();
  assert.deepEqual(await stage.sentIds(tracks), [[1], [2, 3]]);
  assert.equal((await stage.deliveries(counts)).length, 1);
});

test("stores nothing after the claim is lost, nor after unsubscribing", async () => {
  const stage = await openStage();
  const [lost, left] = [await stage.process(), await stage.process()];
  const [of, gone] = [await stage.subscribe(lost), await stage.subscribe(left)];
  await sql`update processes set fence = 2 where uuid = ${lost.row.uuid}`;
  assert.deepEqual(await stage.webhooks.unsubscribe(left.row.uuid, {}), [gone]);
  for (const process of [lost, left]) process.show(1);
  await stage.webhooks.flush();
  assert.deepEqual([await stage.sentIds(of), await stage.sentIds(gone), await rowsOf(left)], [[], [], 0]);
});

test("closes subscriptions of processes that ended without a node", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process);
  await sql`update processes set state = 'finished', finished_at = now() where uuid = ${process.row.uuid}`;
  await stage.webhooks.sweep();
  assert.equal(await rowsOf(process), 1);
  await stage.webhooks.sweep(0);
  assert.equal(await rowsOf(process), 0);
  const [destination] = await sql<{ isClosed: boolean }[]>`select is_closed from destinations where uuid = ${uuid}`;
  assert.equal(destination?.isClosed, true);
});

test("serves a thousand subscriptions to a process with one listener", async () => {
  const stage = await openStage();
  const first = await stage.process();
  const rows = Array.from({ length: 1000 }, (_, number) => ({
    ...{ uuid: newUuid(), userUuid: stage.user.uuid, processUuid: first.row.uuid },
    ...{
      eventType: number % 2 === 0 ? "new-tracks" : "target-count",
      format: "full",
      secret: sql.typed.sealed("whsec_"),
    },
    ...{ policy: sql.json({ backoff_seconds: 3600 }) },
    notificationUrl: sql.typed.sealed(`http://127.0.0.1:9/${number}`),
  }));
  await sql`insert into subscriptions ${sql(rows)}`;
  await sql`
    insert into destinations (uuid, user_uuid, kind, target)
    select uuid, user_uuid, 'webhook', ${sql.typed.sealed({})} from subscriptions where process_uuid = ${first.row.uuid}`;
  const { next, process } = await claimAgain(stage, first, 1);
  process.show(1, 2, 3);
  await next.webhooks.flush();
  process.show(4);
  await next.webhooks.flush();
  assert.equal(process.listeners.length, 1);
  const [count] = await sql<{ stored: number; served: number }[]>`
    select count(*) as stored, count(distinct destination_uuid) as served
    from parcels join subscriptions on subscriptions.uuid = destination_uuid where process_uuid = ${process.row.uuid}`;
  assert.deepEqual({ ...count }, { stored: 1500, served: 1000 });
  process.end();
  await eventually(async () => (await rowsOf(process)) === 0, "its subscriptions are gone");
});

/** A server with the real supervisor. Collects all ids of tracks of its processes in `shown`. */
async function serve(shown: number[], more: Parameters<typeof openSupervisor>[1] = {}) {
  const webhooks = new Webhooks({ sql, config: makeConfig(), delivery: idleOutbox, log: silentLog, gatherMs: 10 });
  const witness: ProcessListener = {
    follow: (process) =>
      void process.follow((notice) => {
        if (notice.type !== "message") return;
        for (const { track_id } of notice.message.active_tracks as unknown as TrackEntry[]) shown.push(track_id);
      }),
    flush: async () => {},
  };
  const stage = await openSupervisor(sql, { ...more, needs: { listeners: [witness, webhooks] } });
  const stop = async () => {
    await stage.supervisor.close();
    await webhooks.close();
  };
  return { stage, webhooks, stop };
}

async function readSent(uuid: string): Promise<readonly number[]> {
  const rows = await sql<{ body: string }[]>`select body from parcels where destination_uuid = ${uuid} order by seq`;
  return rows.flatMap(({ body }) => (JSON.parse(body) as NewTracksNotification).detections.map(({ id }) => id));
}

test("sends tracks once while the runner is killed and the server restarted, until the process ends", async () => {
  const shown: number[] = [];
  const first = await serve(shown);
  const { user, sourceUuid, supervisor, inside } = first.stage;
  const process = await first.stage.start();
  const wish = {
    ...{ notification_url: "http://127.0.0.1:9/", event_type: "new-tracks" as const, auth_url: null },
    ...{ notifier_policy_type: "backoff" as const, notifier_policy_args: { backoff_seconds: 0 } },
    notification_format: "simple" as const,
  };
  const { uuid } = await first.webhooks.subscribe(supervisor, { user, processUuid: process, wish });
  const expectMore = async (what: string) => {
    const before = (await readSent(uuid)).length;
    await eventually(async () => (await readSent(uuid)).length > before + 3, what);
  };
  await expectMore("tracks are sent");
  globalThis.process.kill((await inside(process)).pid, "SIGKILL");
  await first.stage.waitFor(process, ({ type }) => type === "restarting");
  await expectMore("those of the next runner are sent");
  await first.stop();
  const second = await serve(shown, { user, sourceUuid });
  await expectMore("those of the next server are sent");
  await second.stage.supervisor.stop(user, process);
  await eventually(
    async () => (await sql`select from subscriptions where process_uuid = ${process}`).count === 0,
    "the subscription is gone",
  );
  await second.stop();
  const sent = await readSent(uuid);
  assert.deepEqual(sent, shown.slice(shown.indexOf(sent[0] ?? 0)));
  assert.equal(new Set(sent).size, sent.length);
});
