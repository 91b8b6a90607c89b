/** Recordings by the real media hub. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { poll } from "../../../test/watch.fixture.ts";
import { silentLog } from "../../store/database.fixture.ts";
import { addNode } from "../../store/nodes.fixture.ts";
import { newUuid } from "../../uuid.ts";
import { addSource, exitOf, MediaService } from "../media-service.fixture.ts";
import { type MediaServer, openMedia } from "../open-media.ts";

const HUB_ENTRY = new URL("../../../hub/hub.mjs", import.meta.url);

let service: MediaService;
let ada: string;
before(async () => {
  service = await MediaService.open({ RECORDINGS_SEGMENT_SECONDS: "1" });
  ada = await service.addUser("ada");
});
after(() => service?.close());

const recordingsOf = async (source: string) =>
  (await service.call(ada, "GET", `/sources/recordings?source_uuid=${source}`)).body.recordings;

test("records a live stream again when there is disk space again, and gives the reason for the gap", async () => {
  const source = await addSource(service.sql, "ada", "ada/room");
  const { hub } = service.server;
  const publisher = service.publish("rtsp", "ada/room", ada);
  const listed = (count: number) =>
    poll(`${count} are listed, the last with something in it`, async () => {
      const found = await recordingsOf(source);
      return found.length === count && found[0].size_bytes > 0 && found;
    });
  const [first] = await listed(1);
  hub.allowRecording(false);
  await poll("it has ended", async () => (await recordingsOf(source))[0].stopped_at !== null);
  hub.allowRecording(true);
  const [second, ended] = await listed(2);
  assert.deepEqual([ended.uuid, second.stopped_at], [first.uuid, null]);
  assert.match(ended.detail, /disk is nearly full/);
  assert.equal(second.detail, null);
  publisher.kill("SIGKILL");
  await poll("it has ended with its stream", async () => (await recordingsOf(source))[0].stopped_at !== null);
  assert.equal((await recordingsOf(source)).length, 2);
});

test("lists finished files that were not written to the database after the next start, and keeps them after the one after", async () => {
  const source = await addSource(service.sql, "ada", "ada/outage");
  const publisher = service.publish("rtsp", "ada/outage", ada, 4);
  assert.equal(await exitOf(publisher), 0);
  const [whole] = await poll("it has ended", async () => {
    const found = await recordingsOf(source);
    return found[0]?.stopped_at != null && found;
  });
  assert.ok(whole.segments.length >= 3, `${whole.segments.length} files`);
  await service.server.close();
  const sizes = (recording: typeof whole) =>
    recording.segments.map(({ index, size_bytes, started_at }: typeof whole) => [index, size_bytes, started_at]);

  // The database was unavailable from the second file on, and then the server was killed.
  await service.sql`update recordings set stopped_at = null where uuid = ${whole.uuid}`;
  await service.sql`delete from recording_segments where recording_uuid = ${whole.uuid} and index > 0`;
  const started = await restart();
  const [second] = await settled(source);
  assert.deepEqual(sizes(second), sizes(whole));
  assert.equal(second.detail, "the media server was restarted");
  await started.close();

  // It had ended when a row was lost; and it started while the database was unavailable.
  await service.sql`delete from recording_segments where recording_uuid = ${whole.uuid} and index = 1`;
  await (await restartAndSettle(source, whole.segments.length)).close();
  await service.sql`delete from recordings`;
  await (await restartAndSettle(source, whole.segments.length)).close();
  const [last] = await recordingsOf(source);
  assert.deepEqual([last.uuid, last.alias, sizes(last)], [whole.uuid, "outage", sizes(whole)]);
});

async function restart(): Promise<MediaServer> {
  const nodeUuid = newUuid();
  await addNode(service.sql, nodeUuid);
  return openMedia({ sql: service.sql, config: service.config, log: silentLog, nodeUuid, hubEntry: HUB_ENTRY });
}

const settled = (source: string, files = 2) =>
  poll("all rows are written", async () => {
    const found = await recordingsOf(source);
    return found[0]?.stopped_at != null && found[0].segments.length >= files && found;
  });

async function restartAndSettle(source: string, files: number): Promise<MediaServer> {
  const server = await restart();
  await settled(source, files);
  return server;
}
