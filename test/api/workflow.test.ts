/** The whole workflow of the API, over real sockets, with a real clip and a real camera. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import { startCamera } from "../camera.fixture.ts";
import { MISSING_CLIP, testClip } from "../clips.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { reduceClip } from "./people.fixture.ts";
import { Detections, decodeJpeg, readFeed } from "./process-client.fixture.ts";
import { uploadVideo } from "./service.fixture.ts";
import { shareService } from "./shared-service.fixture.ts";

const service = await shareService("workflow");

const folder = temporaryFolder();
const people = testClip("vtest.avi");
const clip = people === null ? await makeClip(folder, 250) : await reduceClip(people, 80, 10);

const upload = (file: string, alias?: string) => uploadVideo(service, file, alias === undefined ? {} : { alias });

/** Inference on every frame would take all processor time. */
const start = (source: SourceRecord) =>
  service.expect<StartedProcess>(201, "POST", `/start?source_uuid=${source.uuid}`, { json: { params: { every: 3 } } });
const info = (uuid: string) => service.expect<ProcessRecord>(200, "GET", `/process/${uuid}`);

async function awaitState(uuid: string, state: ProcessRecord["state"]): Promise<ProcessRecord> {
  for (;;) {
    const record = await info(uuid);
    if (record.state === state) return record;
    assert.notEqual(record.state, "failed", JSON.stringify(record.error));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Everything a client does with a process, for any source. */
async function useProcess(
  source: SourceRecord,
  also: (detections: Detections) => Promise<void> = async () => {},
): Promise<void> {
  const started = await start(source);
  const uuid = started.process_uuid;
  assert.deepEqual(Object.keys(started).sort(), ["detection_data_url", "feed_url", "process_uuid", "telemetry_url"]);
  assert.equal(started.telemetry_url, "Not configured");
  assert.equal(new URL(started.feed_url).searchParams.get("api_key"), service.key);
  assert.match(started.detection_data_url, /^ws:/);

  const detections = await Detections.open(started.detection_data_url);
  for (const { process_uuid, source_uri } of await detections.next(5))
    assert.deepEqual([process_uuid, source_uri], [uuid, source.input_url]);

  await also(detections);
  const pictures = await readFeed(started.feed_url, 3);
  assert.match(await decodeJpeg(pictures.at(-1) ?? assert.fail()), /width=\(int\)\d+/);

  const running = await info(uuid);
  assert.equal(running.state, "running");
  assert.equal(running.source_uuid, source.uuid);
  const { sources } = await service.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources");
  assert.equal(sources.find(({ uuid: known }) => known === source.uuid)?.status, "processing");
  assert.equal((await service.call("DELETE", `/source/${source.uuid}`)).status, 409);

  await service.expect(200, "POST", `/process/${uuid}/pause`);
  assert.equal((await info(uuid)).state, "paused");
  assert.equal((await service.call("POST", `/process/${uuid}/pause`)).status, 409);
  await service.expect(200, "POST", `/process/${uuid}/resume`);
  await detections.next(3);
  assert.equal((await info(uuid)).state, "running");

  await service.expect(200, "DELETE", `/process/${uuid}`);
  const finished = await awaitState(uuid, "finished");
  assert.match(finished.finished_at ?? "", /Z$/);
  assert.equal((await detections.closed).code, 1000);
  const { processes } = await service.expect<{ processes: ProcessRecord[] }>(200, "GET", "/processes");
  assert.equal(
    processes.some(({ uuid: active }) => active === uuid),
    false,
  );
}

describe("the workflow of the API", () => {
  test("on an uploaded clip: upload, sources, start, detections with tracked people, feed, pause, resume, info, stop", {
    timeout: 300_000,
  }, async (context) => {
    const source = await upload(clip, "campus");
    assert.equal(source.type, "file");
    const { sources } = await service.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources");
    assert.deepEqual(
      sources.find(({ uuid }) => uuid === source.uuid),
      source,
    );
    assert.equal((await upload(clip, "again")).uuid, source.uuid);
    await useProcess(source, async (detections) => {
      const seen = () => detections.messages.flatMap(({ active_tracks }) => active_tracks);
      const isPerson = ({ class_name, track_id }: { class_name: string; track_id: number }): boolean =>
        class_name === "person" && track_id > 0;
      if (people === null) context.diagnostic(MISSING_CLIP);
      else await detections.until("a tracked person", () => seen().some(isPerson));
    });
  });

  test("on a live RTSP camera, by its name", { timeout: 300_000 }, async (t) => {
    const camera = await startCamera();
    t.after(() => camera.kill());
    const input_url = camera.url.replace("127.0.0.1", "localhost");
    const source = await service.expect<SourceRecord>(201, "POST", "/stream", {
      json: { alias: "yard", input_url, stream_type: "rtsp" },
    });
    assert.match(source.input_url, /localhost/);
    await useProcess(source);
  });
});
