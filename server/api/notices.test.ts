import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { AlertNotice } from "../../schemas/api/events.ts";
import type { NoticeRecord } from "../../schemas/api/notices.ts";
import type { TrackEntry } from "../../schemas/detection-message.ts";
import { gate, openAlerts } from "../alerts/alerts.fixture.ts";
import { AlertWriter } from "../alerts/alerts.ts";
import { addUser } from "../processes/supervisor.fixture.ts";
import { silentLog, testDatabase } from "../store/database.fixture.ts";
import { insertNotices, removeOldNotices, trimNotices } from "../store/notices.ts";
import { newUuid } from "../uuid.ts";

const database = await testDatabase();
// Its notices are from a day that stays the same.
const service = await openAlerts(database.sql, {}, { EVIDENCE_RETENTION_DAYS: "36500" });
after(async () => {
  await service.close();
  await database.close();
});
const { call, stage } = service;
const list = async (query = ""): Promise<NoticeRecord[]> => (await call("GET", `/notices${query}`)).body.notices;
const clear = () => database.sql`delete from notices`;

const BEGAN_MS = Date.UTC(2026, 4, 17, 8);
const ALERT = newUuid();

function makeNotice(second: number, more: Partial<AlertNotice> = {}, className = "person"): AlertNotice {
  const track: TrackEntry = {
    ...{ track_id: 1, class_id: 0, class_name: className, confidence: 90 },
    ...{ bbox: [0, 0, 64, 36], scaled_bbox: [0, 0, 0.1, 0.1] },
  };
  return {
    ...{ id: newUuid(), alert_uuid: ALERT, alias: "gate", type: "flow-control", process_uuid: newUuid() },
    ...{ source_uuid: stage.sourceUuid, timestamp: new Date(BEGAN_MS + second * 1000).toISOString() },
    ...{ event: "triggered", tracks: [track], data: { count: 1 }, ...more },
  };
}

const store = (notices: readonly AlertNotice[], userUuid = stage.user.uuid) =>
  insertNotices(
    database.sql,
    notices.map((notice) => ({ userUuid, notice })),
  );

test("an event of an alert without an output is stored once, as it would have been sent", async () => {
  const process = await stage.start();
  const alert = await service.make({ ...gate(), output: undefined }, process);
  assert.deepEqual([alert.output, alert.delivery], [[], []]);
  const writer = new AlertWriter({
    sql: database.sql,
    log: silentLog,
    delivery: { enqueue: async () => {}, wake() {} },
  });
  const { row, fence } = stage.supervisor.held(process) ?? assert.fail();
  const sent: AlertNotice[] = [];
  const event = { alert: alert.uuid, type: alert.type, timeMs: BEGAN_MS, event: "triggered" as const };
  const queued = {
    ...{ id: newUuid(), owner: process, bytes: 100, event: { ...event, tracks: [], data: { count: 2 } } },
    process: {
      row,
      fence,
      notify: (notice: { type: string; notice?: AlertNotice }) => void sent.push(notice.notice as never),
    },
  };
  writer.add(queued as never);
  writer.add({ ...queued, id: queued.id } as never);
  await writer.batches.idle();
  await writer.batches.close();
  const [notice, ...others] = await list();
  assert.equal(others.length, 0);
  const { uuid, reviewed, reviewed_at, reviewed_by, comment, ...body } = notice ?? assert.fail();
  assert.deepEqual(body, sent[0]);
  assert.deepEqual([uuid, reviewed, reviewed_at, reviewed_by, comment], [queued.id, false, null, null, null]);
  // It outlives its alert and its process.
  await stage.supervisor.stop(stage.user, process);
  await call("DELETE", `/alert/${alert.uuid}`);
  assert.equal((await list()).length, 1);
  await clear();
});

test("lists by time, alert, process, source, class and review, in pages", async () => {
  const [other, process] = [newUuid(), newUuid()];
  const notices = Array.from({ length: 10 }, (_, i) =>
    makeNotice(
      i,
      { ...(i % 2 === 1 && { alert_uuid: other }), ...(i === 3 && { process_uuid: process }) },
      i < 4 ? "car" : "person",
    ),
  );
  await store(notices);
  const numbers = (found: readonly NoticeRecord[]) => found.map(({ id }) => notices.findIndex((one) => one.id === id));
  assert.deepEqual(numbers(await list()), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
  const at = (second: number) => new Date(BEGAN_MS + second * 1000).toISOString();
  for (const [query, expected] of [
    [`from=${at(2)}&to=${at(5)}`, [4, 3, 2]],
    [`alert=${other}`, [9, 7, 5, 3, 1]],
    [`process=${process}`, [3]],
    [`source=${stage.sourceUuid}&class=car`, [3, 2, 1, 0]],
    [`source=${newUuid()}`, []],
    [`alert=${other}&class=person`, [9, 7, 5]],
    ["reviewed=true", []],
  ] as const)
    assert.deepEqual(numbers(await list(`?${query}`)), expected, query);
  const pages: number[][] = [];
  let cursor: string | undefined;
  do {
    const { body } = await call("GET", `/notices?limit=4${cursor === undefined ? "" : `&cursor=${cursor}`}`);
    pages.push(numbers(body.notices));
    cursor = body.next_cursor;
  } while (cursor !== undefined);
  assert.deepEqual(pages, [
    [9, 8, 7, 6],
    [5, 4, 3, 2],
    [1, 0],
  ]);
  for (const query of ["from=yesterday", "alert=x", "reviewed=maybe"])
    assert.equal((await call("GET", `/notices?${query}`)).status, 422, query);
  await clear();
});

test("a notice is reviewed with a comment, by the user of the key, and deleted", async () => {
  const notice = makeNotice(0);
  await store([notice]);
  const path = `/notice/${notice.id}`;
  const reviewed = await call("PATCH", path, { reviewed: true, comment: "a fox" });
  assert.equal(reviewed.status, 200);
  const { reviewed_at, reviewed_by, comment } = reviewed.body;
  assert.deepEqual([reviewed_by, comment], [stage.user.username, "a fox"]);
  const again = await call("PATCH", path, { comment: null });
  assert.deepEqual([again.body.reviewed_at, again.body.comment], [reviewed_at, null]);
  assert.equal((await list("?reviewed=true")).length, 1);
  const undone = await call("PATCH", path, { reviewed: false });
  assert.deepEqual([undone.body.reviewed, undone.body.reviewed_by], [false, null]);
  for (const body of [{}, { reviewed: "yes" }, { comment: "x".repeat(2001) }, { other: 1 }])
    assert.equal((await call("PATCH", path, body)).status, 422, JSON.stringify(body));
  assert.deepEqual((await call("GET", path)).body, undone.body);
  assert.equal((await call("DELETE", path)).status, 200);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const { status, body } = await call(method, path, method === "PATCH" ? { reviewed: true } : undefined);
    assert.deepEqual([status, body.code], [404, "notice_not_found"]);
  }
});

test("each user keeps the newest", async () => {
  const stranger = await addUser(database.sql);
  await store([0, 1, 2, 3].map((second) => makeNotice(second)));
  await store([makeNotice(0)], stranger.uuid);
  await trimNotices(database.sql, 2);
  assert.deepEqual(
    (await list()).map(({ timestamp }) => Date.parse(timestamp) - BEGAN_MS),
    [3000, 2000],
  );
  assert.equal((await database.sql`select from notices where user_uuid = ${stranger.uuid}`).length, 1);
  await clear();
});

test("notices of other users are not found, and only old ones are removed", async () => {
  const stranger = await addUser(database.sql);
  service.addUser(stranger);
  const [mine, theirs] = [makeNotice(0), makeNotice(60)];
  await store([mine]);
  await store([theirs], stranger.uuid);
  for (const method of ["GET", "PATCH", "DELETE"]) {
    const body = method === "PATCH" ? { reviewed: true } : undefined;
    assert.equal((await call(method, `/notice/${theirs.id}`, body)).status, 404);
  }
  assert.deepEqual(
    (await list()).map(({ uuid }) => uuid),
    [mine.id],
  );
  assert.equal(await removeOldNotices(database.sql, new Date(BEGAN_MS + 30_000), 100), 1);
  assert.equal((await list()).length, 0);
  assert.equal((await call("GET", "/notices", undefined, stranger)).body.notices.length, 1);
  await clear();
});

test("lists a hundred unless asked for more: all of them would not fit into one answer", async () => {
  const notices = Array.from({ length: 101 }, (_, second) => makeNotice(second));
  await store(notices);
  const { body } = await call("GET", "/notices");
  assert.equal(body.notices.length, 100);
  assert.deepEqual(
    (await list(`?cursor=${body.next_cursor}`)).map(({ id }) => id),
    [notices[0]?.id],
  );
  assert.equal((await list("?limit=1000")).length, 101);
  await clear();
});
