/** Two nodes with a bucket: what one has received or recorded, every other one has, also when the first is gone. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeFilm } from "../../native/film.fixture.ts";
import type { ClipRecord } from "../../schemas/api/clips.ts";
import type { ProcessRecord, StartedProcess } from "../../schemas/api/processes.ts";
import type { SourceRecord } from "../../schemas/api/sources.ts";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { TestS3 } from "../../server/files/s3-server.fixture.ts";
import { S3Store } from "../../server/files/s3-store.ts";
import { spawnPublisher } from "../../server/media/publisher.fixture.ts";
import { MASTER_KEY, type TestService, uploadVideo } from "../api/service.fixture.ts";
import { temporaryFolder } from "../graph.fixture.ts";
import { until } from "../watch.fixture.ts";
import { addAccount, PARAMS, read, start, TestCluster } from "./cluster.fixture.ts";

const s3 = await TestS3.start();
const bucket = S3Store.open(s3.settings);
const cluster = await TestCluster.start(0, { ...s3.env, WINDHOVER_RECORDINGS_SEGMENT_SECONDS: "1" });
after(async () => {
  await cluster.close();
  bucket.close();
  await s3.close();
});
const add = (name: string): Promise<TestService> => cluster.add({ WINDHOVER_CLUSTER_LABELS: `name=${name}` });
const [first, second] = [await add("first"), await add("second")];

const FILM_FPS = 30;
const film = join(temporaryFolder(), "film.mp4");
await makeFilm(film, 90, false);
/** Of other bytes: those of a known video are not received again. */
const shortFilm = join(temporaryFolder(), "short.mp4");
await makeFilm(shortFilm, 30, false);
const digest = createHash("sha256")
  .update(await readFile(film))
  .digest("hex");

async function keys(prefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { key } of bucket.list(prefix)) found.push(key);
  return found;
}

async function digestOf(key: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of await bucket.read(key)) hash.update(piece);
  return hash.digest("hex");
}

const listSources = async (service: TestService): Promise<SourceRecord[]> =>
  (await service.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources")).sources.filter(
    ({ type }) => type === "file",
  );

const readDetections = async (
  service: TestService,
  uuid: string,
  key = MASTER_KEY,
  query = "",
): Promise<DetectionMessage[]> => {
  const { status, text } = await service.send("GET", `/process/${uuid}/detections${query}`, { key });
  assert.equal(status, 200, text);
  return text
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
};

const isFinished = async (service: TestService, uuid: string, key = MASTER_KEY): Promise<boolean> => {
  const { state, error } = await read(service, uuid, key);
  assert.equal(error, null);
  return state === "finished";
};

interface Recording {
  readonly uuid: string;
  readonly source_uuid: string;
  readonly started_at: string;
  readonly stopped_at: string | null;
  readonly segments: readonly { readonly index: number; readonly size_bytes: number }[];
}

test("a stream that is recorded on one node is served by the other, the open file too", async () => {
  const { rtsp = "" } = await first.serving.event("ready");
  const url = `${rtsp}/master/yard`;
  await first.expect<SourceRecord>(201, "POST", "/stream", {
    json: { alias: "yard", stream_type: "rtsp", input_url: url },
  });
  const publisher = spawnPublisher(`${url}?api_key=${MASTER_KEY}`);
  const latest = async (): Promise<Recording | undefined> =>
    (await second.expect<{ recordings: Recording[] }>(200, "GET", "/sources/recordings")).recordings[0];
  try {
    await until(async () => (await keys("recordings/")).length >= 2);
    const { uuid = "", segments = [] } = (await latest()) ?? {};
    for (const { index } of segments) {
      const { status, headers } = await second.send("HEAD", `/recording/${uuid}/${index}`, {});
      assert.deepEqual([status, headers.get("content-type")], [200, "video/mp4"], `segment ${index}`);
    }
    const headers = { range: "bytes=100-1099" };
    const answers = [];
    for (const service of [first, second]) answers.push(await service.send("GET", `/recording/${uuid}/0`, { headers }));
    const [one, other] = answers;
    assert.deepEqual([one?.status, other?.status], [206, 206]);
    for (const name of ["etag", "content-range", "content-length", "content-disposition"])
      assert.equal(one?.headers.get(name), other?.headers.get(name), name);
    assert.equal(one?.text, other?.text);
    const { source_uuid: sourceUuid = "", started_at: began = "" } = (await latest()) ?? {};
    const at = (seconds: number) => new Date(Date.parse(began) + seconds * 1000).toISOString();
    const clip = `/source/${sourceUuid}/clip?from=${at(0.4)}&to=${at(1.6)}`;
    const clips = [await first.send("GET", clip, {}), await second.send("GET", clip, {})];
    for (const { status, headers } of clips)
      assert.deepEqual([status, headers.get("content-type"), headers.get("windhover-gaps")], [200, "video/mp4", null]);
    assert.equal(clips[0]?.headers.get("etag"), clips[1]?.headers.get("etag"));
    assert.equal(clips[0]?.text, clips[1]?.text);
    const json = { source_uuid: sourceUuid, from: at(0.4), to: at(1.6) };
    const { uuid: rendered } = await second.expect<ClipRecord>(202, "POST", "/clips", { json });
    await until(async () => {
      const { state, error } = await first.expect<ClipRecord>(200, "GET", `/clip/${rendered}`);
      assert.equal(error, null);
      return state === "ready";
    });
    assert.equal((await keys("clips/")).length, 1);
    for (const service of [first, second]) {
      assert.equal((await service.send("HEAD", `/clip/${rendered}/file`, {})).status, 200);
      const picture = await service.send("GET", `/source/${sourceUuid}/thumbnail?at=${at(0.8)}`, {});
      assert.deepEqual([picture.status, picture.headers.get("content-type")], [200, "image/jpeg"]);
    }
    await first.expect(200, "DELETE", `/clip/${rendered}`);
    await until(async () => (await keys("clips/")).length === 0);
  } finally {
    publisher.kill("SIGKILL");
  }
  await until(async () => {
    const recording = await latest();
    return recording?.stopped_at != null && (await keys("recordings/")).length === recording.segments.length;
  });
  const { uuid = "" } = (await latest()) ?? {};
  const process = await startRecorded(second, uuid, "second");
  await first.expect(200, "DELETE", `/source/${process.source_uuid}`);
  await second.expect(200, "DELETE", `/recording/${uuid}`);
  await until(async () => (await keys("recordings/")).length === 0);
});

/** On that node. Resolves when it has finished. */
async function startRecorded(service: TestService, recording: string, name: string): Promise<ProcessRecord> {
  const json = { params: PARAMS, node_labels: { name } };
  const path = `/start?recording_uuid=${recording}&index=0`;
  const { process_uuid: uuid } = await service.expect<StartedProcess>(201, "POST", path, { json });
  await until(() => isFinished(service, uuid));
  assert.ok((await readDetections(service, uuid)).length > 0);
  return read(service, uuid);
}

test("a recording that is not in the storage yet is the input of a process on the other node", async () => {
  const { rtsp = "" } = await first.serving.event("ready");
  await s3.stop();
  const publisher = spawnPublisher(`${rtsp}/master/yard?api_key=${MASTER_KEY}`, 3);
  const latest = async (): Promise<Recording | undefined> =>
    (await second.expect<{ recordings: Recording[] }>(200, "GET", "/sources/recordings")).recordings[0];
  await until(async () => (await latest())?.stopped_at != null);
  publisher.kill("SIGKILL");
  const { uuid = "" } = (await latest()) ?? {};
  const path = `/start?recording_uuid=${uuid}&index=0`;
  for (const service of [first, second]) {
    const { status, body } = await service.call<{ code: string }>("POST", path);
    assert.deepEqual([status, body.code], [503, "storage_unavailable"]);
  }
  await s3.startAgain();
  for (const service of [first, second])
    await until(async () => {
      const { components } = await service.expect<{ components: Record<string, string> }>(200, "GET", "/status");
      return components.storage === "ok";
    });
  // The first node has the file, and the process runs on the other one.
  const process = await startRecorded(second, uuid, "second");
  await second.expect(200, "DELETE", `/source/${process.source_uuid}`);
  await until(async () => (await second.call("DELETE", `/recording/${uuid}`)).status === 200);
  await until(async () => (await keys("recordings/")).length + (await keys("videos/")).length === 0);
});

test("while the storage is unavailable uploads are rejected by every node, and accepted when it is back", async () => {
  await s3.stop();
  const form = async () => {
    const data = new FormData();
    data.set("file", new Blob([await readFile(film)]), "film.mp4");
    return data;
  };
  for (const service of [first, second]) {
    const { status, body } = await service.call<{ code: string }>("POST", "/video", { body: await form() });
    assert.deepEqual([status, body.code], [503, "storage_unavailable"]);
  }
  const { components } = await first.expect<{ components: Record<string, string> }>(200, "GET", "/status");
  assert.notEqual(components.storage, "ok");
  await s3.startAgain();
  // A rejection may close the connection while the form is sent.
  const upload = async () => (await second.call("POST", "/video", { body: await form() })).status;
  await until(async () => (await upload().catch(() => 0)) === 201);
  await first.expect(200, "DELETE", `/source/${(await listSources(first))[0]?.uuid}`);
  await until(async () => (await keys("videos/")).length === 0);
});

test("what a node has received, detected and recorded is there when the node is gone", async () => {
  const key = await addAccount(cluster.databaseUrl, "rec", "--recording");
  const source = await uploadVideo(second, film, { alias: "film", key });
  assert.deepEqual(await keys("videos/"), [`videos/${source.uuid}.mp4`]);
  assert.equal(await digestOf(`videos/${source.uuid}.mp4`), digest);
  const { process_uuid: uuid } = await start(second, source.uuid, { node_labels: { name: "first" } }, key);
  await until(() => isFinished(second, uuid, key));
  // Moved to the bucket after a while; until then through the node that has them.
  const detected = await readDetections(first, uuid, key);
  assert.ok(detected.length > 0);
  assert.deepEqual(await readDetections(second, uuid, key), detected);
  const recordings = async () => (await read(second, uuid, key)).recordings;
  await until(async () => (await keys("process-recordings/")).length > 0 && (await recordings()).length > 0);
  // On a slow node there are several files, of a second each: what has not been moved is lost with the node.
  for (const kind of ["detections", "process-recordings"])
    await until(async () => (await readdir(join(first.folder.path, "data", kind, uuid)).catch(() => [])).length === 0);
  assert.ok((await keys(`detections/${uuid}/`)).length > 0);
  const unseen = await uploadVideo(first, shortFilm, { alias: "short" });

  first.serving.child.kill("SIGKILL");
  await first.serving.ended;
  assert.deepEqual(await readDetections(second, uuid, key), detected);
  const { started_at: started } = await read(second, uuid, key);
  // A busy node may skip frames, the first one, too.
  const zeroMs = Date.parse(started ?? "");
  for (const { timestamp } of detected) {
    const frame = ((Date.parse(timestamp) - zeroMs) * FILM_FPS) / 1000;
    assert.ok(frame > -0.1 && frame < 90 && Math.abs(frame - Math.round(frame)) < 0.1, `${timestamp}: frame ${frame}`);
  }
  const fromMs = zeroMs + 1000;
  assert.deepEqual(
    await readDetections(second, uuid, key, "?from=1"),
    detected.filter(({ timestamp }) => Date.parse(timestamp) >= fromMs),
  );
  const [file] = await recordings();
  const { status, headers } = await second.send("HEAD", `/process/${uuid}/recording/${file?.index}`, { key });
  assert.deepEqual([status, headers.get("content-length")], [200, String(file?.size_bytes)]);
  const [stored = ""] = await keys("process-recordings/");
  assert.equal(stored, `process-recordings/${uuid}/1-${file?.index}.mp4`, "with the fence");

  const { process_uuid: other } = await start(second, unseen.uuid, { node_labels: { name: "second" } });
  await until(() => isFinished(second, other));
  assert.ok((await readDetections(second, other)).length > 0);
  await second.expect(200, "DELETE", `/source/${source.uuid}`, { key });
  await second.expect(200, "DELETE", `/source/${unseen.uuid}`);
  await until(async () => (await keys("videos/")).length === 0);
});
