/** Recording on demand, by the real media hub. */
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { poll } from "../../../test/watch.fixture.ts";
import { findSubjects } from "../../store/hub-paths.ts";
import { findWanted, recordOnAlert } from "../../store/rings.ts";
import { addSource, MediaService } from "../media-service.fixture.ts";

let service: MediaService;
let ada: string;
before(async () => {
  service = await MediaService.open({ RECORDINGS_ON_ALERT_SECONDS: "2" });
  ada = await service.addUser("ada");
});
after(() => service?.close());

const recordingsOf = async (source: string) =>
  (await service.call(ada, "GET", `/sources/recordings?source_uuid=${source}`)).body.recordings;
const setMode = async (source: string, body: object) => {
  const { status, body: setting } = await service.call(ada, "PATCH", `/source/${source}/recording`, body);
  assert.equal(status, 200, JSON.stringify(setting));
  return setting;
};
const isLive = (path: string) => poll("it is live", () => service.server.hub.find(path) !== null);
/** Seconds in the rings of a source. */
const ringOf = async (source: string): Promise<number> => {
  const [row] = await service.sql<{ seconds: number }[]>`
    select coalesce(sum(duration_ms), 0)::float8 / 1000 as seconds from recordings
      join recording_segments on recording_uuid = uuid
    where source_uuid = ${source} and is_ring`;
  return row?.seconds ?? 0;
};

test("records a source from one request to another, with the seconds before", async () => {
  const source = await addSource(service.sql, "ada", "ada/yard");
  assert.deepEqual(await setMode(source, { mode: "off", pre_roll_seconds: 30 }), {
    ...{ source_uuid: source, mode: "off", pre_roll_seconds: 30, recording_uuid: null, wanted_until: null },
  });
  const publisher = service.publish("rtsp", "ada/yard", ada);
  await isLive("ada/yard");
  await poll("its last seconds are kept", async () => (await ringOf(source)) >= 3);
  assert.deepEqual(await recordingsOf(source), []);

  const startedMs = Date.now();
  await setMode(source, { mode: "always" });
  const [recording] = await poll("it is recorded", async () => {
    const found = await recordingsOf(source);
    return found.length > 0 && found;
  });
  assert.equal(recording.stopped_at, null);
  assert.ok(startedMs - Date.parse(recording.started_at) >= 2500, `it starts at ${recording.started_at}`);
  assert.equal(await ringOf(source), 0);
  const { body } = await service.call(ada, "GET", `/source/${source}/recording`);
  assert.deepEqual([body.mode, body.recording_uuid], ["always", recording.uuid]);

  await setMode(source, { mode: "off", pre_roll_seconds: 0 });
  const [ended] = await poll("it has ended", async () => {
    const found = await recordingsOf(source);
    return found[0].stopped_at !== null && found;
  });
  assert.equal(ended.uuid, recording.uuid);
  assert.equal(ended.detail, null);
  assert.notEqual(service.server.hub.find("ada/yard"), null);
  publisher.kill("SIGKILL");
});

test("records a source for some seconds from each notice on", async () => {
  const source = await addSource(service.sql, "ada", "ada/gate");
  await setMode(source, { mode: "on_alert", pre_roll_seconds: 5 });
  const publisher = service.publish("rtsp", "ada/gate", ada);
  await poll("its last seconds are kept", async () => (await ringOf(source)) >= 1);
  assert.deepEqual(await recordingsOf(source), []);
  await recordOnAlert(service.sql, [{ sourceUuid: source, processUuid: source }], 2);
  await poll("it is recorded", async () => (await recordingsOf(source)).length === 1);
  await poll("it has ended", async () => (await recordingsOf(source))[0].stopped_at !== null);
  await poll("its last seconds are kept again", async () => (await ringOf(source)) > 0);
  publisher.kill("SIGKILL");
});

test("records the kept seconds also for a notice whose time was over before it was seen", async () => {
  const source = await addSource(service.sql, "ada", "ada/late");
  await setMode(source, { mode: "on_alert", pre_roll_seconds: 5 });
  const publisher = service.publish("rtsp", "ada/late", ada);
  await poll("its last seconds are kept", async () => (await ringOf(source)) >= 1);
  await recordOnAlert(service.sql, [{ sourceUuid: source, processUuid: source }], -1);
  await poll("it is recorded", async () => (await recordingsOf(source)).length === 1);
  await poll("it has ended", async () => (await recordingsOf(source))[0].stopped_at !== null);
  await poll("its last seconds are kept again", async () => (await ringOf(source)) > 0);
  assert.equal((await recordingsOf(source)).length, 1);
  publisher.kill("SIGKILL");
});

test("keeps nothing of a source that is neither recorded nor needs pre-roll", async () => {
  const source = await addSource(service.sql, "ada", "ada/shed");
  await setMode(source, { mode: "off" });
  const publisher = service.publish("rtmp", "ada/shed", ada, 3);
  await isLive("ada/shed");
  await poll("it has ended", () => publisher.exitCode !== null);
  const rows = await service.sql`select from recordings where source_uuid = ${source}`;
  assert.equal(rows.length, 0);
});

test("limits the bytes of rings by key, oldest first, and removes their files", async () => {
  const source = await addSource(service.sql, "ada", "ada/full");
  await setMode(source, { mode: "off", pre_roll_seconds: 60 });
  const publisher = service.publish("rtsp", "ada/full", ada);
  const segments = async () => {
    const rows = await service.sql<{ uuid: string; index: number }[]>`
      select uuid, index from recordings join recording_segments on recording_uuid = uuid
      where source_uuid = ${source} order by index`;
    return rows;
  };
  await poll("it has two files", async () => (await segments()).length >= 2);
  const { recordings } = service.config as { recordings: { ring_bytes_per_key: number } };
  const before = recordings.ring_bytes_per_key;
  recordings.ring_bytes_per_key = 1;
  const [left] = await poll("only the newest is left", async () => {
    const found = await segments();
    return found.length === 1 && found[0]?.index !== 0 && found;
  });
  // Files are removed after their rows.
  const folder = join(service.server.recordings.folder.path, String(left?.uuid));
  await poll("the file of the oldest is removed", async () => !(await readdir(folder)).includes("0.mp4"));
  recordings.ring_bytes_per_key = before;
  publisher.kill("SIGKILL");
});

test("a stream that is pulled is recorded on request only", async () => {
  const source = await addSource(service.sql, "ada", "ada/pulled");
  await service.sql`update sources set hub_path = null where uuid = ${source}`;
  assert.equal((await service.call(ada, "GET", `/source/${source}/recording`)).body.mode, "off");
  assert.deepEqual(await setMode(source, { pre_roll_seconds: 5 }), {
    ...{ source_uuid: source, mode: "off", pre_roll_seconds: 5, recording_uuid: null, wanted_until: null },
  });
  const path = `ada/~${source}`;
  const find = async () =>
    (await findWanted(service.sql, [], [source])).map(({ mode, path, isPulled }) => [mode, path, isPulled]);
  assert.deepEqual(await find(), [["off", path, true]]);
  assert.equal((await setMode(source, { mode: "on_alert" })).mode, "on_alert");
  assert.deepEqual(await find(), [["on_alert", path, true]]);
  // Files of a recording without a row are found by their path.
  const [subject] = await findSubjects(service.sql, [{ path, protocol: null }]);
  assert.deepEqual([subject?.sourceUuid, subject?.path], [source, path]);
  assert.equal((await findSubjects(service.sql, [{ path: `bob/~${source}`, protocol: null }])).length, 0);
});

test("rejects settings that are out of range, of files, and of others", async () => {
  const source = await addSource(service.sql, "ada", "ada/mine");
  const patch = (key: string, uuid: string, body: object) =>
    service.call(key, "PATCH", `/source/${uuid}/recording`, body);
  assert.equal((await patch(ada, source, { pre_roll_seconds: 61 })).status, 422);
  assert.equal((await patch(ada, source, { mode: "sometimes" })).status, 422);
  assert.equal((await patch(ada, source, {})).status, 422);
  const bob = await service.addUser("bob");
  assert.equal((await patch(bob, source, { mode: "off" })).status, 404);
  assert.equal((await service.call(bob, "GET", `/source/${source}/recording`)).status, 404);
  await service.sql`update sources set hub_path = null, type = 'file', stream_type = null where uuid = ${source}`;
  const { status, body } = await patch(ada, source, { mode: "off" });
  assert.deepEqual([status, body.code], [409, "not_recordable"]);
});
