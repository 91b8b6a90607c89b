import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import { makeUser } from "../../api/app.fixture.ts";
import { insertProcess, insertUser } from "../../sources/sources.fixture.ts";
import { newUuid } from "../../uuid.ts";
import { removeOldest } from "./disk-space.ts";
import { listProcessFolders } from "./recording-files.ts";
import { DAY_MS, RecordingStage } from "./recordings.fixture.ts";
import type { Recordings } from "./recordings.ts";

let stage: RecordingStage;
const begun: Recordings[] = [];
const begin = async (settings?: Readonly<Record<string, string>>) => {
  const recordings = await stage.begin(settings);
  begun.push(recordings);
  return recordings;
};
before(async () => {
  stage = await RecordingStage.open();
});
afterEach(async () => {
  for (const recordings of begun.splice(0)) await recordings.close();
  await stage.sql`delete from recordings`;
  await rm(join(stage.dataDir, "recordings"), { recursive: true, force: true });
});
after(() => stage?.close());

const uuidsOf = async (recordings: Recordings) => (await stage.list(recordings)).map(({ uuid }) => uuid);

test("writes recordings as they grow, and nothing for an empty one", async () => {
  const recordings = await begin();
  const uuid = await stage.record(recordings, { files: 2, isOpen: true });
  const [row] = await stage.list(recordings);
  assert.deepEqual(
    [row?.alias, row?.stoppedAt, row?.segments.map(({ sizeBytes }) => sizeBytes)],
    ["yard", null, [10, 10]],
  );
  const grown = { recording: uuid, path: "ada/yard", index: 1, startedAtMs: Date.now(), durationMs: 2500, bytes: 99 };
  recordings.handle({ type: "segment", segment: grown });
  recordings.handle({ type: "recorded", recording: uuid, stoppedAtMs: Date.now(), detail: "the disk is full" });
  const [closed] = await stage.until(recordings, ([first]) => first?.stoppedAt !== null);
  assert.deepEqual([closed?.segments[1]?.sizeBytes, closed?.segments[1]?.durationMs], [99, 2500]);
  assert.equal(closed?.detail, "the disk is full");
  const unused = recordings.name({ userUuid: stage.user.uuid, sourceUuid: newUuid(), alias: "x", path: "ada/x" }) ?? "";
  recordings.handle({ type: "recorded", recording: unused, stoppedAtMs: Date.now(), detail: null });
  assert.deepEqual(await uuidsOf(recordings), [uuid]);
});

test("the growth of many recordings is written together, a beginning and an end at once", async () => {
  const recordings = await begin();
  const uuids: string[] = [];
  for (let i = 0; i < 5; i += 1) uuids.push(await stage.record(recordings, { isOpen: true }));
  const writes = async () => (await stage.sql`select distinct xmin::text from recording_segments`).length;
  assert.equal(await writes(), 5, "each began with a write of its own");
  const grow = (bytes: number) => {
    for (const recording of uuids) {
      const segment = { recording, path: "ada/yard", index: 0, startedAtMs: 0, durationMs: 2000, bytes };
      recordings.handle({ type: "segment", segment });
    }
  };
  for (let bytes = 11; bytes <= 20; bytes += 1) grow(bytes);
  await stage.until(recordings, (rows) => rows.every(({ segments }) => segments[0]?.sizeBytes === 20));
  assert.equal(await writes(), 1);
  grow(30);
  recordings.handle({ type: "recorded", recording: uuids[0] ?? "", stoppedAtMs: Date.now(), detail: null });
  // With the end of one, whatever else has changed.
  await stage.until(recordings, (rows) => rows.some(({ stoppedAt }) => stoppedAt !== null));
  assert.deepEqual(
    new Set((await stage.list(recordings)).map(({ segments }) => segments[0]?.sizeBytes)),
    new Set([30]),
  );
});

test("one recording of a deleted user does not hold up the others", async () => {
  const recordings = await begin();
  const gone = makeUser("gone");
  await insertUser(stage.sql, gone);
  await stage.sql`delete from users where uuid = ${gone.uuid}`;
  const lost = recordings.name({ userUuid: gone.uuid, sourceUuid: newUuid(), alias: "x", path: "gone/x" }) ?? "";
  const segment = { recording: lost, path: "gone/x", index: 0, startedAtMs: Date.now(), durationMs: 1000, bytes: 1 };
  recordings.handle({ type: "segment", segment });
  const uuid = await stage.record(recordings, { files: 2 });
  assert.deepEqual(await uuidsOf(recordings), [uuid]);
});

test("after a hub crash a recording ends as repaired, or else as last reported", async () => {
  const recordings = await begin();
  const repaired = await stage.record(recordings, { isOpen: true });
  const untold = await stage.record(recordings, { isOpen: true, startedAtMs: 1_000_000 });
  recordings.onHubLost();
  const segment = {
    recording: repaired,
    path: "ada/yard",
    index: 0,
    startedAtMs: Date.now(),
    durationMs: 1900,
    bytes: 19,
  };
  recordings.handle({ type: "segment", segment });
  recordings.handle({
    type: "recorded",
    recording: repaired,
    stoppedAtMs: segment.startedAtMs + 1900,
    detail: "restarted",
  });
  assert.equal((await stage.list(recordings)).find(({ uuid }) => uuid === untold)?.stoppedAt, null);
  recordings.handle({ type: "repaired" });
  const rows = await stage.until(recordings, (all) => all.every(({ stoppedAt }) => stoppedAt !== null));
  const find = (uuid: string) => rows.find((row) => row.uuid === uuid);
  assert.equal(find(repaired)?.segments[0]?.sizeBytes, 19);
  assert.equal(find(untold)?.stoppedAt, new Date(1_001_000).toISOString());
});

test("removes rows without files, and no files", async () => {
  const first = await begin();
  const open = await stage.record(first, { isOpen: true, files: 2 });
  const whole = await stage.record(first, { files: 3 });
  const empty = await stage.record(first);
  const ended = await stage.record(first, { files: 1 });
  await first.close();
  await first.folder.removeSegment(whole, 1);
  await first.folder.remove(empty);
  await stage.write(first, ended, 7);
  const stray = newUuid();
  await stage.write(first, stray, 0);
  await writeFile(join(first.folder.path, "notes.txt"), "not ours");

  const second = await begin();
  assert.deepEqual(new Set(await uuidsOf(second)), new Set([open, whole, ended]));
  const rows = await stage.list(second);
  assert.deepEqual(
    rows.find(({ uuid }) => uuid === whole)?.segments.map(({ index }) => index),
    [0, 2],
  );
  assert.deepEqual(new Set(await readdir(second.folder.path)), new Set([open, whole, ended, stray, "notes.txt"]));
  assert.deepEqual(await second.folder.listSegments(ended), [0, 7]);
  assert.deepEqual(new Set(second.unreported), new Set([open, ended, stray]), "the hub reports their files");
});

test("removes the oldest first: of a live stream, of an ended one, or of a process", async () => {
  const recordings = await begin();
  const at = (days: number) => Date.now() - days * DAY_MS;
  const ended = await stage.record(recordings, { startedAtMs: at(2), files: 2 });
  const open = await stage.record(recordings, { startedAtMs: at(6), files: 2, isOpen: true });
  const process = await insertProcess(stage.sql, stage.user.uuid, newUuid(), "finished");
  const processFolder = join(stage.dataDir, "process-recordings", process);
  await mkdir(processFolder, { recursive: true });
  const film = join(processFolder, "0.mp4");
  await writeFile(film, "film");
  await utimes(film, at(4) / 1000, at(4) / 1000);
  const detections = join(stage.dataDir, "detections", process, "0.ndjson.gz");
  await mkdir(dirname(detections), { recursive: true });
  await writeFile(detections, "boxes");
  await utimes(detections, at(3) / 1000, at(3) / 1000);
  const nodeUuid = (await stage.sql`select node_uuid from recordings limit 1`)[0]?.nodeUuid;
  const needs = {
    sql: stage.sql,
    nodeUuid,
    folder: recordings.folder,
    otherFolders: listProcessFolders(stage.dataDir),
  };
  assert.equal(await removeOldest(needs), 10);
  assert.deepEqual(await recordings.folder.listSegments(open), [1]);
  assert.equal(await removeOldest(needs), 4);
  assert.deepEqual([existsSync(processFolder), existsSync(dirname(processFolder))], [false, true]);
  assert.equal(await removeOldest(needs), 5);
  assert.equal(existsSync(detections), false);
  assert.equal(await removeOldest(needs), 10);
  assert.deepEqual(await recordings.folder.listSegments(ended), [1]);
  assert.equal(await removeOldest(needs), 10);
  assert.deepEqual(await uuidsOf(recordings), [open], "with its last file a recording is gone");
  assert.equal(await removeOldest(needs), null, "what is being written stays");
});

test("a user who fills the disk costs no other a recording, and loses its own oldest above its quota", async () => {
  const recordings = await begin();
  const at = (days: number) => Date.now() - days * DAY_MS;
  const heavy = makeUser("heavy");
  await insertUser(stage.sql, heavy);
  const old = await stage.record(recordings, { startedAtMs: at(6), files: 2 });
  const recent = await stage.record(recordings, { startedAtMs: at(1), files: 5 });
  await stage.sql`update recordings set user_uuid = ${heavy.uuid} where uuid = ${recent}`;
  const nodeUuid = (await stage.sql`select node_uuid from recordings limit 1`)[0]?.nodeUuid;
  const needs = { sql: stage.sql, nodeUuid, folder: recordings.folder, otherFolders: [] };
  for (let left = 5; left > 2; left--) assert.equal(await removeOldest(needs), 10);
  assert.deepEqual(await recordings.folder.listSegments(recent), [3, 4], "the oldest of the one who has the most");
  assert.deepEqual(await recordings.folder.listSegments(old), [0, 1], "though these are older");
  const more = await stage.record(recordings, { startedAtMs: at(2), files: 3 });
  assert.equal(await removeOldest(needs, 50), null, "no user has more than that");
  assert.equal(await removeOldest(needs, 40), 10);
  assert.deepEqual(await recordings.folder.listSegments(old), [1]);
  assert.deepEqual(
    [await recordings.folder.listSegments(more), await recordings.folder.listSegments(recent)],
    [
      [0, 1, 2],
      [3, 4],
    ],
  );
});

test("removes what is too old with its files, also of a recording in progress", async () => {
  const recordings = await begin({ RECORDINGS_RETENTION_DAYS: "7" });
  const old = await stage.record(recordings, { startedAtMs: Date.now() - 8 * DAY_MS });
  const young = await stage.record(recordings, { startedAtMs: Date.now() - 6 * DAY_MS });
  const long = await stage.record(recordings, { startedAtMs: Date.now() - 8 * DAY_MS, files: 3, isOpen: true });
  const processFolder = join(stage.dataDir, "process-recordings", newUuid());
  await mkdir(processFolder, { recursive: true });
  for (const name of ["0.mp4", "1.mp4"]) await writeFile(join(processFolder, name), "x");
  await utimes(join(processFolder, "0.mp4"), Date.now() / 1000, Date.now() / 1000 - (8 * DAY_MS) / 1000);
  const detections = join(stage.dataDir, "detections", newUuid());
  await mkdir(detections, { recursive: true });
  for (const name of ["0.ndjson.gz", "1.ndjson.gz"]) await writeFile(join(detections, name), "x");
  await utimes(join(detections, "0.ndjson.gz"), Date.now() / 1000, Date.now() / 1000 - (8 * DAY_MS) / 1000);
  await recordings.sweep();
  assert.deepEqual(new Set(await uuidsOf(recordings)), new Set([young, long]));
  assert.deepEqual(new Set(await recordings.folder.list()), new Set([young, long]));
  assert.ok(!(await recordings.folder.list()).includes(old));
  assert.deepEqual(await recordings.folder.listSegments(long), [2]);
  assert.deepEqual(await readdir(processFolder), ["1.mp4"]);
  assert.deepEqual(await readdir(detections), ["1.ndjson.gz"]);
});

test("removes other old files when one cannot be removed", async () => {
  const recordings = await begin({ RECORDINGS_RETENTION_DAYS: "7" });
  const long = await stage.record(recordings, { startedAtMs: Date.now() - 8 * DAY_MS, files: 4, isOpen: true });
  for (const index of [0, 1]) {
    const path = recordings.folder.segmentPath(long, index);
    await rm(path);
    // No file at all.
    await mkdir(path);
  }
  const other = await stage.record(recordings, { startedAtMs: Date.now() - 8 * DAY_MS, files: 3, isOpen: true });
  await recordings.sweep();
  assert.deepEqual(await recordings.folder.listSegments(other), [2]);
});

test("only the owner deletes a recording, with its files, and not while it is in progress", async () => {
  const recordings = await begin();
  const uuid = await stage.record(recordings);
  const open = await stage.record(recordings, { isOpen: true });
  const eve = { ...stage.user, uuid: newUuid() };
  await assert.rejects(recordings.find(eve, uuid, 0), { code: "recording_not_found" });
  await assert.rejects(recordings.find(stage.user, uuid, 1), { code: "recording_not_found" });
  assert.equal((await recordings.find(null, uuid, 0)).sizeBytes, 10);
  await assert.rejects(recordings.remove(eve, uuid), { code: "recording_not_found" });
  await assert.rejects(recordings.remove(stage.user, open), { code: "recording_unavailable" });
  await recordings.remove(stage.user, uuid);
  assert.deepEqual(await recordings.folder.list(), [open]);
  await assert.rejects(recordings.remove(stage.user, uuid), { code: "recording_not_found" });
});

test("does not delete a recording on another machine", async () => {
  const recordings = await begin();
  const uuid = await stage.record(recordings);
  await stage.sql`update recordings set node_uuid = ${newUuid()}`;
  await assert.rejects(recordings.remove(stage.user, uuid), { code: "recording_unavailable" });
  assert.deepEqual([await uuidsOf(recordings), await recordings.folder.list()], [[uuid], [uuid]]);
});

test("lists recordings by source and by time", async () => {
  const recordings = await begin();
  const [old, young, open] = [
    await stage.record(recordings, { startedAtMs: Date.now() - 3 * DAY_MS }),
    await stage.record(recordings, { startedAtMs: Date.now() - DAY_MS }),
    await stage.record(recordings, { startedAtMs: Date.now() - 3 * DAY_MS, isOpen: true }),
  ];
  const list = async (request: Parameters<Recordings["list"]>[1]) =>
    new Set((await recordings.list(stage.user, request)).rows.map(({ uuid }) => uuid));
  const sourceUuid = (await stage.list(recordings)).find(({ uuid }) => uuid === old)?.sourceUuid ?? "";
  const middle = new Date(Date.now() - 2 * DAY_MS);
  assert.deepEqual(await list({ sourceUuid }), new Set([old]));
  assert.deepEqual(await list({ since: middle }), new Set([young, open]), "one in progress counts as current");
  assert.deepEqual(await list({ until: middle }), new Set([old, open]));
  assert.deepEqual(await list({ sourceUuid, since: middle }), new Set());
});

test("pages through recordings, newest first", async () => {
  const recordings = await begin();
  const made = [];
  for (const day of [3, 2, 1]) made.unshift(await stage.record(recordings, { startedAtMs: Date.now() - day * DAY_MS }));
  const first = await recordings.list(stage.user, { limit: 2 });
  const second = await recordings.list(stage.user, { limit: 2, cursor: first.nextCursor ?? "" });
  assert.deepEqual(
    [...first.rows, ...second.rows].map(({ uuid }) => uuid),
    made,
  );
  assert.equal(second.nextCursor, null);
});
