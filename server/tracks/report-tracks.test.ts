import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { Static } from "typebox";
import { TrackedListing, TrackReportRecord } from "../../schemas/api/track-reports.ts";
import type { ReportedTrack } from "../../schemas/track-report.ts";
import type { AnyEndpoint, JsonAnswer } from "../api/endpoint.ts";
import { trackedProcessEndpoints } from "../api/tracks.ts";
import type { Sql } from "../store/client.ts";
import { type TestDatabase, testDatabase } from "../store/database.fixture.ts";
import { deleteReport, listTracked, writeEndedReports } from "../store/track-reports.ts";
import { removeOldTracks, writeTracks } from "../store/tracks.ts";
import { checkBy } from "../validation.ts";
import { chooseWindow, type ReportOrder, readReportCursor, reportTracks } from "./report-tracks.ts";
import { insertProcess, pointOf, reported, START_MS } from "./tracks.fixture.ts";

let database: TestDatabase;
let sql: Sql;
before(async () => {
  database = await testDatabase();
  sql = database.sql;
});
after(() => database.close());

type Report = Static<typeof TrackReportRecord>;
const check = checkBy(TrackReportRecord);
const at = (second: number): number => START_MS / 1000 + second;
const patchOf = (second: number, jpeg = "/9j/2Q==") => ({ timeMs: START_MS + second * 1000, confidence: 0.875, jpeg });

const write = (processUuid: string, ...tracks: readonly ReportedTrack[]) =>
  writeTracks(
    sql,
    tracks.map(({ pointsBefore, points, patch = null, ...summary }) => ({
      ...{ ...summary, processUuid, fence: 1, patch },
      points: points.map((point, i) => ({ ...point, index: pointsBefore + i })),
    })),
  );

async function read(processUuid: string, change: Partial<ReportOrder> = {}): Promise<Report> {
  const order: ReportOrder = {
    ...{ processUuid, since: null, reportTimeMs: START_MS + 60_500, windowMinutes: 5, isActive: true },
    ...{ withPatches: true, after: 0, limit: null, ...change },
  };
  let text = "";
  for await (const piece of reportTracks(sql, order)) text += piece;
  const report = JSON.parse(text) as Report;
  assert.deepEqual(check(report), []);
  return report;
}

const ended = (id: number, change: Partial<ReportedTrack> = {}) => reported(id, { isLive: false, ...change });
const idsOf = ({ tracks }: Report) => tracks.map(({ track_id }) => track_id);

describe("a report", () => {
  test("has the summary of each track, with its best image", async () => {
    const processUuid = await insertProcess(sql);
    const track = reported(7, {
      className: 'a "car"\n',
      points: [pointOf(0), pointOf(1, 48.12345678), pointOf(2), pointOf(3, 48.2)],
      patch: patchOf(0),
    });
    await write(processUuid, track);
    const better = Buffer.alloc(200, 1).toString("base64");
    await write(processUuid, {
      ...track,
      sightings: 9,
      pointsBefore: 4,
      points: [pointOf(4)],
      patch: patchOf(2, better),
    });
    assert.deepEqual(await read(processUuid), {
      process_uuid: processUuid,
      report_time: at(60.5),
      time_window_minutes: 5,
      tracks: [
        {
          ...{ track_id: 7, class_id: 2, category_name: 'a "car"\n', bbox: [1, 2.25, 3, 4], is_live: true },
          list_confidences: [80, 80, 80, 80, 80],
          ...{ max_confidence: 90, min_confidence: 50, mean_confidence: 70 },
          timestamps: [0, 1, 2, 3, 4].map(at),
          ...{ first_seen: at(0), last_seen: at(1) },
          first_location: { latitude: 48.1234568, longitude: 11.5, altitude: 519.25, timestamp: at(1) },
          last_location: { latitude: 48.2, longitude: 11.5, altitude: 519.25, timestamp: at(3) },
          image_patches: [{ image: better, confidence: 87.5, timestamp: at(2) }],
        },
      ],
    });
    assert.deepEqual((await read(processUuid, { withPatches: false })).tracks[0]?.image_patches, []);
    assert.equal((await read(processUuid, { isActive: false })).tracks[0]?.is_live, false);
  });

  test("is the same whether written when a track ended or built on request", async () => {
    const processUuid = await insertProcess(sql);
    await write(
      processUuid,
      ended(1, { points: [pointOf(0, 48.1), pointOf(1)] }),
      reported(2),
      ended(3, { points: [] }),
    );
    const before = await read(processUuid);
    while ((await writeEndedReports(sql)) > 0);
    const written = await sql`select track_id from tracks where process_uuid = ${processUuid} and report is not null`;
    assert.deepEqual(written.map(({ trackId }) => trackId).sort(), [1, 3]);
    assert.deepEqual(await read(processUuid), before);
    // An update of a track that had ended: the written report is outdated.
    await write(processUuid, ended(1, { sightings: 3, pointsBefore: 2, points: [pointOf(5)] }));
    assert.deepEqual((await read(processUuid)).tracks[0]?.timestamps, [0, 1, 5].map(at));
  });

  test("has the enhanced data of a track, and none without enhancement", async () => {
    const processUuid = await insertProcess(sql);
    await write(processUuid, ended(1), ended(2));
    const found = { vehicle_type: "van", colour: null, plate: null, attributes: {} };
    await sql`update tracks set enhanced_data = ${sql.json(found)} where process_uuid = ${processUuid} and track_id = 2`;
    const { tracks } = await read(processUuid);
    assert.deepEqual(
      tracks.map((track) => ("enhanced_data" in track ? track.enhanced_data : "none")),
      ["none", found],
    );
  });

  test("excludes tracks not seen in its window, and points before it", async () => {
    const processUuid = await insertProcess(sql);
    const seen = (id: number, from: number, to: number, isLive = false) =>
      reported(id, {
        ...{ isLive, firstSeenMs: START_MS + from * 1000, lastSeenMs: START_MS + to * 1000 },
        points: Array.from({ length: to - from + 1 }, (_, i) => pointOf(from + i, 48 + i)),
      });
    await write(processUuid, seen(1, 0, 9), seen(2, 5, 12), seen(3, 11, 13), seen(4, 0, 14, true));
    while ((await writeEndedReports(sql)) > 0);
    const { tracks } = await read(processUuid, { since: new Date(START_MS + 10_000) });
    assert.deepEqual(
      tracks.map(({ track_id, timestamps, first_seen, first_location }) => [
        ...[track_id, timestamps, first_seen, first_location?.timestamp],
      ]),
      [
        [2, [10, 11, 12].map(at), at(5), at(5)],
        [3, [11, 12, 13].map(at), at(11), at(11)],
        [4, [10, 11, 12, 13, 14].map(at), at(0), at(0)],
      ],
    );
  });

  test("has every track once in pages, each with the cursor of the next", async () => {
    const processUuid = await insertProcess(sql);
    await write(processUuid, ...Array.from({ length: 25 }, (_, i) => (i % 2 === 0 ? ended(i + 1) : reported(i + 1))));
    const whole = idsOf(await read(processUuid));
    assert.deepEqual(
      whole,
      Array.from({ length: 25 }, (_, i) => i + 1),
    );
    const paged: number[][] = [];
    for (let cursor: string | undefined = ""; cursor !== undefined; ) {
      const after: number = cursor === "" ? 0 : (readReportCursor(cursor) ?? assert.fail(cursor));
      const page: Report = await read(processUuid, { after, limit: 10 });
      paged.push(idsOf(page));
      cursor = page.next_cursor;
    }
    assert.deepEqual(paged, [whole.slice(0, 10), whole.slice(10, 20), whole.slice(20)]);
    assert.equal((await read(processUuid, { limit: 25 })).next_cursor, undefined);
    for (const cursor of ["", "%", "MA", "LTE", Buffer.from("1e5").toString("base64url"), "9".repeat(200)])
      assert.equal(readReportCursor(cursor), null, cursor);
  });

  test("of a process without detections has no tracks", async () => {
    assert.deepEqual((await read(await insertProcess(sql))).tracks, []);
  });

  test("is sent in chunks of bounded size, whatever the size of its images", async () => {
    const processUuid = await insertProcess(sql);
    await sql`
      insert into tracks (process_uuid, track_id, class_id, class_name, first_seen, last_seen, sightings, best_confidence,
        mean_confidence, least_confidence, box, is_live, report)
      select ${processUuid}, id, 2, 'car', now(), now(), 2, 0.9, 0.7, 0.5, '[1, 2, 3, 4]', false, '{"track_id":' || id
      from generate_series(1, 100) as id`;
    await sql`
      insert into track_patches
      select ${processUuid}, id, now(), 0.9, decode(repeat('ab', 96 * 1024), 'hex') from generate_series(1, 100) as id`;
    const order = { processUuid, since: null, reportTimeMs: START_MS, windowMinutes: 5, isActive: false };
    let [bytes, largest] = [0, 0];
    for await (const piece of reportTracks(sql, { ...order, withPatches: true, after: 0, limit: null })) {
      bytes += piece.length;
      largest = Math.max(largest, piece.length);
    }
    assert.ok(bytes > 100 * 96 * 1024, String(bytes));
    assert.ok(largest < 8 * 2 ** 20, String(largest));
  });
});

describe("what is kept of a report", () => {
  const count = async (processUuid: string): Promise<readonly number[]> => {
    const [found] = await sql`
      select (select count(*)::integer from tracks where process_uuid = ${processUuid}) as tracks,
        (select count(*)::integer from track_points where process_uuid = ${processUuid}) as points,
        (select count(*)::integer from track_patches where process_uuid = ${processUuid}) as patches`;
    return [found?.tracks, found?.points, found?.patches];
  };

  test("is deleted in steps of any size, without others", async () => {
    const [processUuid, other] = [await insertProcess(sql), await insertProcess(sql)];
    const tracks = Array.from({ length: 7 }, (_, i) => ended(i + 1, { patch: patchOf(0) }));
    await write(processUuid, ...tracks);
    await write(other, ...tracks);
    await deleteReport(sql, processUuid, { isEnded: true, most: 3 });
    assert.deepEqual(
      [await count(processUuid), await count(other)],
      [
        [0, 0, 0],
        [7, 7, 7],
      ],
    );
    const [owner] = await sql<[{ userUuid: string }]>`select user_uuid from processes where uuid = ${processUuid}`;
    assert.equal((await listTracked(sql, owner.userUuid, {})).rows.length, 0);
  });

  test("of a running process can be deleted, and continues with new tracks", async () => {
    const processUuid = await insertProcess(sql);
    await write(processUuid, reported(1), reported(2));
    await deleteReport(sql, processUuid, { isEnded: false, most: 100 });
    await write(processUuid, reported(2, { sightings: 3, pointsBefore: 1, points: [pointOf(9)] }));
    assert.deepEqual(idsOf(await read(processUuid)), [2]);
    const [owner] = await sql<[{ userUuid: string }]>`select user_uuid from processes where uuid = ${processUuid}`;
    const { rows } = await listTracked(sql, owner.userUuid, {});
    assert.deepEqual(
      rows.map(({ uuid, trackCount, alias, enhancement }) => [uuid, trackCount, alias, enhancement]),
      [[processUuid, 1, null, null]],
    );
  });

  test("is listed with its video if the key has process recording", async () => {
    const uuid = await insertProcess(sql);
    const [owner] = await sql<[{ userUuid: string }]>`select user_uuid from processes where uuid = ${uuid}`;
    const files = [0, 1].map((index) => ({
      index,
      path: "",
      sizeBytes: 1,
      modifiedAt: new Date(START_MS),
      startedAt: null,
      durationMs: null,
    }));
    const [endpoint = assert.fail("no endpoint")] = trackedProcessEndpoints(
      sql,
      { list: async () => files },
      { sign: (resource) => `signed-${resource.split("/")[0]}` },
    );
    for (const [hasRecording, expected] of [
      [true, `https://here/process/${uuid}/recording/0?token=signed-process`],
      [false, null],
    ] as const) {
      const call = { user: { uuid: owner.userUuid, hasRecording }, query: {}, publicUrl: "https://here" };
      const { body } = (await endpoint.handle(call as unknown as Parameters<AnyEndpoint["handle"]>[0])) as JsonAnswer;
      assert.deepEqual(checkBy(TrackedListing)(body), []);
      assert.equal((body as Static<typeof TrackedListing>).tracked_processes[0]?.video_url, expected);
    }
  });

  test("is deleted with its process, and images with old tracks", async () => {
    const [processUuid, gone] = [await insertProcess(sql), await insertProcess(sql)];
    const old = { firstSeenMs: START_MS - 5000, lastSeenMs: START_MS - 5000, patch: patchOf(0) };
    await write(processUuid, ended(1, old), ended(2, { patch: patchOf(0) }));
    await write(gone, ended(1, { patch: patchOf(0) }));
    while ((await removeOldTracks(sql, new Date(START_MS - 1000), 1)) > 0);
    assert.deepEqual(await count(processUuid), [1, 2, 1]);
    await sql`delete from processes where uuid = ${gone}`;
    assert.deepEqual(await count(gone), [0, 0, 0]);
  });
});

test("the window is the last minutes of a running process or the whole of an ended one, and can be narrowed", () => {
  const createdAt = new Date(START_MS);
  const started = { createdAt, startedAt: createdAt, finishedAt: null };
  const run = { nowMs: START_MS + 3_600_000, isActive: true, mostMinutes: 5 };
  const since = (minutesAgo: number, endMs = run.nowMs) => new Date(endMs - minutesAgo * 60_000);
  assert.deepEqual(chooseWindow(started, { ...run, asked: null }), { since: since(5), windowMinutes: 5 });
  assert.deepEqual(chooseWindow(started, { ...run, asked: 2 }), { since: since(2), windowMinutes: 2 });
  assert.deepEqual(chooseWindow(started, { ...run, asked: 60 }), { since: since(5), windowMinutes: 5 });
  const finishedAt = new Date(START_MS + 10.5 * 60_000);
  const [over, end] = [
    { ...started, finishedAt },
    { ...run, isActive: false },
  ];
  assert.deepEqual(chooseWindow(over, { ...end, asked: null }), { since: null, windowMinutes: 11 });
  assert.deepEqual(chooseWindow(over, { ...end, asked: 11 }), { since: null, windowMinutes: 11 });
  assert.deepEqual(chooseWindow(over, { ...end, asked: 3 }), {
    since: since(3, finishedAt.getTime()),
    windowMinutes: 3,
  });
  const failed = { createdAt, startedAt: null, finishedAt: createdAt };
  assert.deepEqual(chooseWindow(failed, { ...end, asked: null }), { since: null, windowMinutes: 1 });
});
