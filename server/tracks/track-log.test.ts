import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { MOST_REPORTED_TRACKS } from "../../schemas/track-report.ts";
import type { Sql } from "../store/client.ts";
import { silentLog, type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { readPoints, readTracks } from "../store/tracks.ts";
import { newUuid } from "../uuid.ts";
import { type TrackLimits, TrackLog } from "./track-log.ts";
import { insertProcess, pointOf, reported, START_MS, TestProcess } from "./tracks.fixture.ts";

const LIMITS: TrackLimits = {
  ...{ flushMs: 3_600_000, reportMs: 0 },
  ...{ queuedTracks: 1000, queuedPoints: 1000, batchPoints: 10, queuedPatchBytes: 1_000_000 },
  ...{ retry: { firstMs: 10, maxMs: 50 }, sweepMs: 1e9 },
};

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await testDatabase();
  sql = database.sql;
});
after(() => database.close());

function openLog(change: Partial<TrackLimits> = {}) {
  const config = { retention_days: 7, window_minutes: 5 };
  const log = new TrackLog({ sql, config, limits: { ...LIMITS, ...change }, log: silentLog });
  after(() => log.close().catch(() => {}));
  return log;
}

async function logged(log: TrackLog, change: Partial<TestProcess["row"]> = {}): Promise<TestProcess> {
  const process = new TestProcess(await insertProcess(sql), change);
  log.follow(process);
  return process;
}

const tracksOf = ({ row }: TestProcess) => readTracks(sql, row.uuid, { after: 0, limit: 1000 });
const pointsOf = ({ row }: TestProcess) =>
  readPoints(sql, row.uuid, { after: { trackId: 0, index: -1 }, lastTrackId: 1e9 }, 1000);

test("stores tracks as reported, and updates them", async () => {
  const log = openLog();
  const process = await logged(log);
  process.report(reported(7, { className: "\u0000car\ud800", points: [pointOf(0, 48.13721234567)] }));
  await log.flush();
  const next = reported(7, { sightings: 9, isLive: false, pointsBefore: 1, points: [pointOf(1)] });
  process.report(next);
  await log.flush();
  const { points: _, pointsBefore: __, ...summary } = next;
  assert.deepEqual(await tracksOf(process), [summary]);
  assert.deepEqual(await pointsOf(process), [
    { trackId: 7, index: 0, point: pointOf(0, 48.13721234567) },
    { trackId: 7, index: 1, point: pointOf(1) },
  ]);
});

test("stores a duplicate once, and never replaces a newer summary", async () => {
  const log = openLog();
  const process = await logged(log);
  for (const sightings of [5, 5, 2]) {
    process.report(reported(1, { sightings }));
    await log.flush();
  }
  assert.deepEqual(
    (await tracksOf(process)).map(({ sightings }) => sightings),
    [5],
  );
  assert.equal((await pointsOf(process)).length, 1);
});

test("stores many tracks in several batches", async () => {
  const log = openLog();
  const process = await logged(log);
  for (let first = 1; first <= 250; first += 50)
    process.report(...Array.from({ length: 50 }, (_, i) => reported(first + i, { points: [pointOf(0), pointOf(1)] })));
  await log.flush();
  assert.deepEqual([(await tracksOf(process)).length, (await pointsOf(process)).length], [250, 500]);
});

test("stores nothing of a key without the track logger, of other channels, or of invalid reports", async () => {
  const log = openLog();
  const without = await logged(log, { hasTrackLogger: false });
  without.report(reported(1));
  const process = await logged(log);
  process.emit({ type: "message", channel: "detection_data", message: { tracks: [reported(1)] } });
  const crowd = Array.from({ length: MOST_REPORTED_TRACKS + 1 }, (_, i) => reported(i + 1));
  for (const message of [{}, { tracks: [{}] }, { tracks: crowd }, { tracks: [{ ...reported(1), sightings: -1 }] }])
    process.emit({ type: "message", channel: "track_report", message });
  await log.flush();
  assert.deepEqual([await tracksOf(without), await tracksOf(process)], [[], []]);
});

test("tracks of an ended runner are not live; those of the next one are", async () => {
  const log = openLog();
  const process = await logged(log);
  process.report(reported(1));
  await log.flush();
  process.report(reported(2));
  process.emit({ type: "restarting" });
  process.report(reported(1001));
  await log.flush();
  const liveIds = async () => (await tracksOf(process)).filter(({ isLive }) => isLive).map(({ id }) => id);
  assert.deepEqual(await liveIds(), [1001]);
  // The server itself was started again.
  const later = openLog();
  later.follow(new TestProcess(process.row.uuid, { nextTrackId: 2001 }));
  await later.flush();
  assert.deepEqual(await liveIds(), []);
});

test("ignores what a node reports of a process that another node has claimed", async () => {
  const log = openLog();
  const process = await logged(log);
  process.report(reported(1, { sightings: 2 }));
  await log.flush();
  await sql`update processes set fence = 2 where uuid = ${process.row.uuid}`;
  process.report(reported(1, { sightings: 9, pointsBefore: 1, points: [pointOf(1)] }), reported(2));
  process.emit({ type: "ended" });
  await log.flush();
  assert.deepEqual(
    (await tracksOf(process)).map(({ id, sightings, isLive }) => [id, sightings, isLive]),
    [[1, 2, true]],
  );
});

test("queues and merges updates while the database rejects them", async () => {
  const log = openLog({ flushMs: 20 });
  const process = await logged(log);
  await sql`alter table tracks rename to tracks_away`;
  try {
    process.report(reported(1, { sightings: 2 }));
    await assert.rejects(log.flush());
    process.report(reported(1, { sightings: 3, pointsBefore: 1, points: [pointOf(1)] }));
    await assert.rejects(log.flush());
  } finally {
    await sql`alter table tracks_away rename to tracks`;
  }
  // By itself.
  while ((await tracksOf(process))[0]?.sightings !== 3) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(
    (await pointsOf(process)).map(({ index }) => index),
    [0, 1],
  );
});

test("stores the other tracks when one cannot be stored", async () => {
  const log = openLog({ batchPoints: 100 });
  const process = await logged(log);
  await sql`alter table tracks add constraint odd check (class_name <> 'odd')`;
  try {
    process.report(...[1, 2, 3, 4, 5].map((id) => reported(id, { className: id === 3 ? "odd" : "car" })));
    await log.flush();
  } finally {
    await sql`alter table tracks drop constraint odd`;
  }
  assert.deepEqual(
    (await tracksOf(process)).map(({ id }) => id),
    [1, 2, 4, 5],
  );
});

test("deletes tracks with their process, and stores none of a deleted one", async () => {
  const log = openLog();
  const process = await logged(log);
  const stranger = new TestProcess(newUuid());
  log.follow(stranger);
  process.report(reported(1));
  stranger.report(reported(1));
  await log.flush();
  assert.equal((await pointsOf(process)).length, 1);
  assert.deepEqual(await tracksOf(stranger), []);
  await sql`delete from processes where uuid = ${process.row.uuid}`;
  assert.deepEqual([await tracksOf(process), await pointsOf(process)], [[], []]);
});

test("stores the last reports on close", async () => {
  const log = openLog();
  const process = await logged(log);
  process.report(reported(1));
  await log.close();
  assert.equal((await tracksOf(process)).length, 1);
});

test("removes old points, also of a live track, and tracks not seen since", async () => {
  const log = openLog({ batchPoints: 2 });
  const process = await logged(log);
  const day = 86_400;
  const path = [0, 1, 2, 3, 4, 8 * day].map((second) => pointOf(second));
  process.report(
    reported(1, { points: path, lastSeenMs: START_MS + 8 * day * 1000 }),
    reported(2, { points: [pointOf(5)] }),
    reported(3, { points: [pointOf(6)] }),
  );
  await log.flush();
  await log.sweep(START_MS + 7 * day * 1000);
  assert.equal((await pointsOf(process)).length, 8, "at the very edge all is there");
  await log.sweep(START_MS + 8 * day * 1000);
  assert.deepEqual(
    (await pointsOf(process)).map(({ trackId, index }) => [trackId, index]),
    [[1, 5]],
  );
  assert.deepEqual(
    (await tracksOf(process)).map(({ id }) => id),
    [1],
  );
});
