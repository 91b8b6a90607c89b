/** A media-server source from registration to recordings, with a real publisher, a real process and a killed hub. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, test } from "node:test";
import { commandOf, environmentOf, findDescendants, listDescendants } from "../../cli/serve/serving.fixture.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { keepPublishing } from "../../server/media/publisher.fixture.ts";
import { poll } from "../watch.fixture.ts";
import { Detections } from "./process-client.fixture.ts";
import { listOpenFiles, MASTER_KEY } from "./service.fixture.ts";
import { SECRETS_KEY, shareService } from "./shared-service.fixture.ts";

const service = await shareService("media");
const { rtmp = "" } = await service.serving.event("ready");
const address = `${rtmp}/media/drones/one`;

const register = () =>
  service.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias: "drone", input_url: address, stream_type: "rtmp" },
  });
const read = (uuid: string) => service.expect<SourceRecord>(200, "GET", `/source/${uuid}`);
const info = (uuid: string) => service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);

const awaitStatus = (uuid: string, status: SourceRecord["status"]) =>
  poll(`the source is ${status}`, async () => (await read(uuid)).status === status);

interface Recording {
  readonly stopped_at: string | null;
  readonly duration_seconds: number;
}
const listRecordings = async () =>
  (await service.expect<{ recordings: Recording[] }>(200, "GET", "/sources/recordings")).recordings;

function findHub(): number {
  return findDescendants(service.serving.pid, /hub\.mjs/)[0] ?? assert.fail("the hub is not running");
}

describe("a media-server source", () => {
  test("changes from offline to streaming to processing, keeps its process when stream or hub fail, and is recorded", {
    timeout: 300_000,
  }, async (t) => {
    const source = await register();
    assert.deepEqual(await listRecordings(), []);
    const early = await service.call<{ code: string }>("POST", `/start?source_uuid=${source.uuid}`);
    assert.deepEqual([early.status, early.body.code], [400, "source_not_live"]);

    const publish = () => {
      const publisher = keepPublishing(`${address}?api_key=${service.key}`);
      t.after(() => publisher.end());
      return publisher;
    };
    const first = publish();
    await awaitStatus(source.uuid, "streaming");
    // Almost no inference, but a message for every frame.
    const json = { params: { every: 1000, include_predicted: true } };
    const started = await service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json });
    const uuid = started.process_uuid;
    assert.equal((await read(source.uuid)).status, "processing");
    const detections = await Detections.open(started.detection_data_url);
    for (const { source_uri } of await detections.next(3)) assert.equal(source_uri, address);
    const own = commandOf(service.serving.pid);
    // A forked child has the command line of the server at first; esbuild runs when the service is not bundled.
    const isOther = (pid: number) => commandOf(pid) !== own && !commandOf(pid).includes("/esbuild ");
    const children = listDescendants(service.serving.pid).filter(isOther);
    assert.ok(children.length > 2);
    for (const pid of children) {
      const environment = environmentOf(pid);
      for (const secret of [SECRETS_KEY, MASTER_KEY, service.key])
        assert.ok(!environment.includes(secret), commandOf(pid));
    }

    first.end();
    await poll("the process reconnects", async () => (await info(uuid)).reconnecting);
    publish();
    await poll("the process is connected again", async () => !(await info(uuid)).reconnecting);
    await detections.next(3);
    await poll(
      "the second stream is recorded",
      async () => (await listRecordings()).filter(({ duration_seconds }) => duration_seconds > 0).length === 2,
    );

    process.kill(findHub(), "SIGKILL");
    await poll("the process loses the hub", async () => (await info(uuid)).reconnecting);
    await poll("the process is connected to the new hub", async () => !(await info(uuid)).reconnecting);
    await detections.next(3);
    const record = await info(uuid);
    assert.deepEqual([record.state, record.stats.restarts], ["running", 0]);
    const shown = JSON.stringify(record) + service.serving.stderr;
    assert.doesNotMatch(shown, /run_[\w-]{20}|wh_0123456789ab_A/);
    assert.ok(!shown.includes(service.key));

    await service.expect(200, "DELETE", `/process/${uuid}`);
    assert.equal((await read(source.uuid)).status, "streaming");
    // That of the new hub is listed once it has a first segment.
    await poll("two recordings have ended, and the third has begun", async () => {
      const found = await listRecordings();
      const isEach = found.every(({ duration_seconds }) => duration_seconds > 0);
      return isEach && found.length === 3 && found.filter(({ stopped_at }) => stopped_at !== null).length === 2;
    });
    assert.deepEqual(await listOpenFiles(join(service.folder.path, "data")), [], "recordings are private");
  });
});
