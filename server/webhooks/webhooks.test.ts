import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { NewTracksNotification, TargetCountNotification } from "../../schemas/api/webhooks.ts";
import type { TrackEntry } from "../../schemas/detection-message.ts";
import { makeConfig } from "../api/app.fixture.ts";
import type { ProcessListener } from "../processes/registry.ts";
import { openStage as openSupervisor } from "../processes/supervisor.fixture.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { eventually } from "../streams/streams.fixture.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { ShownProcess, Stage, stillOutbox } from "./webhooks.fixture.ts";
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

/** The next start of the server takes the process up. */
async function takeUp(stage: Stage, { row, fence }: ShownProcess, nextTrackId: number) {
  await sql`update processes set fence = ${fence + 1} where uuid = ${row.uuid}`;
  const next = await openStage({ user: stage.user });
  const process = new ShownProcess(row.uuid, { nextTrackId, fence: fence + 1 });
  next.webhooks.follow(process);
  return { next, process };
}

const rowsOf = async ({ row }: ShownProcess): Promise<number> =>
  (await sql`select from subscriptions where process_uuid = ${row.uuid}`).count;

test("the first tracks go out at once, those of the interval into one parcel that grows until its time", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process, "new-tracks", { format: "full" });
  process.show(4);
  await stage.webhooks.flush();
  for (const ids of [[4, 5], [4], [3, 4, 6]]) {
    process.show(...ids);
    await stage.webhooks.flush();
  }
  const [first, second, ...rest] = await stage.parcels(uuid);
  assert.deepEqual([rest, await stage.toldIds(uuid)], [[], [[4], [5, 3, 6]]]);
  assert.deepEqual([first?.isOpen, second?.isOpen], [false, true]);
  assert.equal((second?.dueMs ?? 0) - (first?.dueMs ?? 0) >= HOUR_MS, true);
  for (const parcel of [first, second]) {
    assert.deepEqual(checkNewTracks(parcel?.body), []);
    assert.equal(parcel?.body.id, parcel?.id);
  }
});

test("nothing is written for pictures that show nothing new", async () => {
  let written = 0;
  const counting: typeof stillOutbox = {
    ...stillOutbox,
    enqueue: async (sql, parcels) => {
      written += parcels.length;
      await stillOutbox.enqueue(sql, parcels);
    },
    amend: async (sql, parcel) => {
      written += 1;
      return stillOutbox.amend(sql, parcel);
    },
  };
  const stage = await openStage({ delivery: counting });
  const process = await stage.process();
  await stage.subscribe(process);
  await stage.subscribe(process, "target-count");
  for (let picture = 0; picture < 20; picture += 1) {
    process.show(1, 2);
    await stage.webhooks.flush();
  }
  assert.equal(written, 2);
});

test("a parcel that is on its way before it could grow leaves the rest to the next, an interval later", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process);
  process.show(1);
  await stage.webhooks.flush();
  process.show(2);
  await stage.webhooks.flush();
  // Whoever delivers has closed it.
  await sql`update parcels set is_open = false where destination_uuid = ${uuid}`;
  process.show(3, 4);
  await stage.webhooks.flush();
  await stage.webhooks.flush();
  assert.deepEqual(await stage.toldIds(uuid), [[1], [2], [3, 4]]);
  const [, second, third] = await stage.parcels(uuid);
  assert.equal((third?.dueMs ?? 0) - (second?.dueMs ?? 0) >= HOUR_MS, true);
});

test("a count is written when it is due, without another picture; what changed and went back never is", async () => {
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
  await eventually(async () => (await stage.parcels(quick)).length === 1, "the second count");
  wavering.end();
  await eventually(async () => (await rowsOf(wavering)) === 0, "its subscription is gone");
  const read = (parcels: Awaited<ReturnType<Stage["parcels"]>>) => {
    const bodies = parcels.map(({ body }) => body);
    for (const body of bodies) assert.deepEqual(checkTargetCount(body), []);
    return bodies.map((body) => [body.track_count, "previous_count" in body && body.previous_count]);
  };
  assert.deepEqual(read(await stage.parcels(slow)), [[2, 0]]);
  assert.deepEqual(read([...first, ...(await stage.parcels(quick))]), [
    [2, 0],
    [1, 2],
  ]);
});

test("while a receiver is away tracks are gathered into the one that waits, and only the last count is told", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const tracks = await stage.subscribe(process, "new-tracks", { backoffSeconds: 0.1 });
  const counts = await stage.subscribe(process, "target-count", { backoffSeconds: 0.1 });
  const shown = [[1], [1, 2], [1, 2, 3], [1, 2, 3, 4], [4]];
  for (const ids of shown) {
    process.show(...ids);
    await stage.webhooks.flush();
    const dueMs = (await stage.parcels(tracks)).at(-1)?.dueMs ?? 0;
    await eventually(() => Date.now() > dueMs, "its time has come");
  }
  assert.deepEqual(await stage.toldIds(tracks), [[1], [2, 3, 4]]);
  const countsOf = async () => (await stage.parcels(counts)).map(({ body }) => body.track_count);
  assert.deepEqual(await countsOf(), [1]);
  await stage.arrive(counts);
  process.show(4, 5, 6);
  await eventually(async () => (await stage.parcels(counts)).length > 0, "the count of now");
  assert.deepEqual(await countsOf(), [3]);
  process.show(6);
  process.end();
  await eventually(async () => (await rowsOf(process)) === 0, "its subscriptions are gone");
  assert.deepEqual(await countsOf(), [3, 1]);
});

test("a server that is killed forgets nothing that was gathered, and the next one tells nothing twice", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const tracks = await stage.subscribe(process);
  const counts = await stage.subscribe(process, "target-count");
  for (const ids of [[1, 2], [3]]) {
    process.show(...ids);
    await stage.webhooks.flush();
  }
  // Killed: nobody says good-bye.
  const { next, process: again } = await takeUp(stage, process, 1004);
  again.show(1004, 1005);
  await next.webhooks.flush();
  assert.deepEqual(await next.toldIds(tracks), [[1, 2], [3], [1004, 1005]]);
  const dues = (await next.parcels(tracks)).map(({ dueMs }) => dueMs);
  for (const [at, dueMs] of dues.slice(1).entries()) assert.ok(dueMs - (dues[at] ?? 0) >= HOUR_MS);
  // Two were told, and two there are.
  assert.equal((await next.parcels(counts)).length, 1);
  // The one that was seen just before counts for nothing, the last one does.
  again.show(1004);
  again.end();
  await next.webhooks.flush();
  const told = (await next.parcels(counts)).map(({ body }) => [
    body.track_count,
    "previous_count" in body && body.previous_count,
  ]);
  assert.deepEqual(told, [
    [2, 0],
    [1, 2],
  ]);
});

test("a process that ends sends what was gathered at once, and its subscriptions are gone", async () => {
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
    assert.deepEqual(await stage.toldIds(tracks), [[1], [2, 3, 4, 5]]);
    const told = (await stage.parcels(counts)).map(({ body }) => body.track_count);
    assert.deepEqual(told, [1, 3]);
    for (const uuid of [tracks, counts]) {
      for (const { dueMs } of await stage.parcels(uuid)) assert.ok(dueMs <= Date.now());
      const [destination] = await sql<{ isClosed: boolean }[]>`select is_closed from destinations where uuid = ${uuid}`;
      assert.equal(destination?.isClosed, true);
    }
  }
});

test("a server that ends leaves its subscriptions to the next, with what was gathered", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process);
  process.show(1);
  await stage.webhooks.flush();
  process.show(2);
  process.halt();
  await stage.webhooks.close();
  assert.deepEqual([await stage.toldIds(uuid), await rowsOf(process)], [[[1], [2]], 1]);
});

test("pictures that come before it is known who has subscribed are not lost", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process);
  const { next, process: again } = await takeUp(stage, process, 1);
  again.show(7);
  again.show(8);
  await next.webhooks.flush();
  assert.deepEqual(await next.toldIds(uuid), [[7, 8]]);
});

test("while the database refuses all is gathered in one parcel, and written when it is back", async () => {
  const stage = await openStage();
  const process = await stage.process();
  const uuid = await stage.subscribe(process, "new-tracks", { backoffSeconds: 0 });
  await sql`alter table parcels rename to parcels_away`;
  try {
    for (const id of [1, 2, 3]) {
      process.show(id);
      await stage.webhooks.flush();
    }
  } finally {
    await sql`alter table parcels_away rename to parcels`;
  }
  await eventually(async () => (await stage.parcels(uuid)).length > 0, "it is written");
  assert.deepEqual(await stage.toldIds(uuid), [[1, 2, 3]]);
});

test("a commit of which nobody heard is not written again", async () => {
  let isDeaf = false;
  const deaf = new Proxy(sql, {
    get: (target, name) =>
      name !== "begin"
        ? Reflect.get(target, name)
        : async (work: Parameters<Sql["begin"]>[0]) => {
            const result = await (target.begin as (work: unknown) => Promise<unknown>)(work);
            if (isDeaf) throw new Error("the connection is lost");
            return result;
          },
  });
  const stage = await Stage.open(deaf);
  after(() => stage.close());
  const process = await stage.process();
  const tracks = await stage.subscribe(process);
  const counts = await stage.subscribe(process, "target-count");
  for (const ids of [[1], [1, 2], [1, 2, 3]]) {
    isDeaf = true;
    process.show(...ids);
    await stage.webhooks.flush();
    isDeaf = false;
    await stage.webhooks.flush();
  }
  await stage.webhooks.flush();
  assert.deepEqual(await stage.toldIds(tracks), [[1], [2, 3]]);
  assert.equal((await stage.parcels(counts)).length, 1);
});

test("whoever lost the process to another machine writes nothing more, and one who unsubscribed hears nothing more", async () => {
  const stage = await openStage();
  const [lost, left] = [await stage.process(), await stage.process()];
  const [of, gone] = [await stage.subscribe(lost), await stage.subscribe(left)];
  await sql`update processes set fence = 2 where uuid = ${lost.row.uuid}`;
  assert.deepEqual(await stage.webhooks.unsubscribe(left.row.uuid, {}), [gone]);
  for (const process of [lost, left]) process.show(1);
  await stage.webhooks.flush();
  assert.deepEqual([await stage.toldIds(of), await stage.toldIds(gone), await rowsOf(left)], [[], [], 0]);
});

test("subscriptions of processes that ended unseen are closed in the end", async () => {
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

test("a thousand subscriptions to a process cost one ear, and all are told", async () => {
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
  const { next, process } = await takeUp(stage, first, 1);
  process.show(1, 2, 3);
  await next.webhooks.flush();
  process.show(4);
  await next.webhooks.flush();
  assert.equal(process.listeners.length, 1);
  const [count] = await sql<{ parcels: number; told: number }[]>`
    select count(*) as parcels, count(distinct destination_uuid) as told
    from parcels join subscriptions on subscriptions.uuid = destination_uuid where process_uuid = ${process.row.uuid}`;
  assert.deepEqual({ ...count }, { parcels: 1500, told: 1000 });
  process.end();
  await eventually(async () => (await rowsOf(process)) === 0, "its subscriptions are gone");
});

/** A server with the real supervisor, and all ids that its processes show. */
async function serve(shown: number[], more: Parameters<typeof openSupervisor>[1] = {}) {
  const config = makeConfig({ WEBHOOKS_GATHER_SECONDS: "0.01" });
  const webhooks = new Webhooks({ sql, config, delivery: stillOutbox, log: silentLog });
  const witness: ProcessListener = {
    follow: (process) =>
      void process.follow((notice) => {
        if (notice.type !== "message") return;
        for (const { track_id } of notice.message.active_tracks as unknown as TrackEntry[]) shown.push(track_id);
      }),
  };
  const stage = await openSupervisor(sql, { ...more, needs: { listeners: [witness, webhooks] } });
  const stop = async () => {
    await stage.supervisor.close();
    await webhooks.close();
  };
  return { stage, webhooks, stop };
}

async function readTold(uuid: string): Promise<readonly number[]> {
  const rows = await sql<{ body: string }[]>`select body from parcels where destination_uuid = ${uuid} order by seq`;
  return rows.flatMap(({ body }) => (JSON.parse(body) as NewTracksNotification).detections.map(({ id }) => id));
}

test("tracks are told once each while the runner is killed and the server started again; with the process the subscription ends", async () => {
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
  const tellMore = async (what: string) => {
    const before = (await readTold(uuid)).length;
    await eventually(async () => (await readTold(uuid)).length > before + 3, what);
  };
  await tellMore("tracks are told");
  globalThis.process.kill((await inside(process)).pid, "SIGKILL");
  await first.stage.waitFor(process, ({ type }) => type === "restarting");
  await tellMore("the next runner's are told");
  await first.stop();
  const second = await serve(shown, { user, sourceUuid });
  await tellMore("those of the next server are told");
  await second.stage.supervisor.stop(user, process);
  await eventually(
    async () => (await sql`select from subscriptions where process_uuid = ${process}`).count === 0,
    "the subscription is gone",
  );
  await second.stop();
  const told = await readTold(uuid);
  assert.deepEqual(told, shown.slice(shown.indexOf(told[0] ?? 0)));
  assert.equal(new Set(told).size, told.length);
});
