import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import type { Scope } from "../../schemas/api/keys.ts";
import { poll } from "../../test/watch.fixture.ts";
import { addKey } from "../keys/api-keys.ts";
import { limitKey, revokeKey } from "../store/api-keys.ts";
import { findUserByName } from "../store/users.ts";
import { exitOf, MediaService } from "./media-service.fixture.ts";

const run = promisify(execFile);

let service: MediaService;
let ada: string;
let eve: string;
before(async () => {
  service = await MediaService.open({}, { recheckMs: 200 });
  ada = await service.addUser("ada");
  eve = await service.addUser("eve");
});
after(() => service?.close());

async function register(path: string, protocol: "rtsp" | "rtmp" = "rtsp") {
  const stream = { alias: `alias of ${path}`, input_url: service.address(protocol, path), stream_type: protocol };
  const { status, body } = await service.call(ada, "POST", "/stream", stream);
  assert.equal(status, 201, JSON.stringify(body));
  return body;
}

const statusOf = async (uuid: string): Promise<string> =>
  (await service.call(ada, "GET", `/source/${uuid}`)).body.status;
const awaitStatus = (uuid: string, status: string) =>
  poll(`the source is ${status}`, async () => (await statusOf(uuid)) === status);

const recordingsOf = async (sourceUuid: string) => {
  const { body } = await service.call(ada, "GET", "/sources/recordings");
  return body.recordings.filter((recording: { source_uuid: string }) => recording.source_uuid === sourceUuid);
};

for (const protocol of ["rtmp", "rtsp"] as const)
  test(`a stream published over ${protocol} is shown as streaming, recorded, and served to browsers`, async () => {
    const source = await register(`ada/${protocol}/cam`, protocol);
    assert.equal(source.status, "offline");
    const early = await service.app.call(new URL(source.hls_url).pathname + new URL(source.hls_url).search);
    assert.equal(((await early.json()) as { code: string }).code, "stream_not_live");
    const publisher = service.publish(protocol, `ada/${protocol}/cam`, ada, 3);
    await awaitStatus(source.uuid, "streaming");

    const playlist = await fetch(source.hls_url);
    assert.deepEqual([playlist.status, playlist.headers.get("content-type")], [200, "application/vnd.apple.mpegurl"]);
    const [inner = ""] = (await playlist.text()).split("\n").filter((line) => /^[^#]/.test(line));
    const media = await fetch(new URL(inner, source.hls_url));
    assert.match(await media.text(), /#EXT-X-PART-INF/);
    assert.equal((await fetch(source.hls_url.replace(/\?.*/, ""))).status, 403);
    const others = await service.call(eve, "GET", `/source/${source.uuid}/hls/index.m3u8`);
    assert.deepEqual([others.status, others.body.code], [404, "source_not_found"]);

    assert.equal(await exitOf(publisher), 0);
    await awaitStatus(source.uuid, "offline");
    const [recording] = await poll("the recording is closed", async () => {
      const found = await recordingsOf(source.uuid);
      return found[0]?.stopped_at ? found : null;
    });
    assert.equal(recording.alias, source.alias);
    const file = join(service.dataDir, "downloaded.mp4");
    await writeFile(file, new Uint8Array(await (await fetch(recording.segments[0].download_url)).arrayBuffer()));
    const counted = await run("ffprobe", [
      ...["-v", "error", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames"],
      ...["-of", "csv=p=0", file],
    ]);
    assert.equal(Number(counted.stdout.trim()), 75);
    assert.equal(recording.duration_seconds, 3);
  });

test("rejects publishers without the owner's key, or on an unregistered path", async () => {
  await register("ada/guarded");
  const refused = [
    service.publish("rtsp", "ada/guarded", "wh_abc_wrong"),
    service.publish("rtmp", "ada/guarded", eve),
    service.publish("rtsp", "ada/unregistered", ada),
  ];
  for (const publisher of refused) assert.notEqual(await exitOf(publisher), 0);
  assert.equal(service.server.hub.find("ada/guarded"), null);
});

test("disconnects a publisher when its source is deleted, and when its key is revoked", async () => {
  const source = await register("ada/deleted");
  const first = service.publish("rtsp", "ada/deleted", ada);
  await awaitStatus(source.uuid, "streaming");
  assert.equal((await service.call(ada, "DELETE", `/source/${source.uuid}`)).status, 200);
  assert.notEqual(await exitOf(first), 0);
  const kept = await poll("its recording is closed", async () => {
    const [recording] = await recordingsOf(source.uuid);
    return recording?.stopped_at ? recording : null;
  });
  assert.equal((await fetch(kept.segments[0].download_url)).status, 200, "recordings outlive their source");

  const bob = await service.addUser("bob");
  const stream = { alias: "bob's", input_url: service.address("rtmp", "bob/cam"), stream_type: "rtmp" };
  const { body } = await service.call(bob, "POST", "/stream", stream);
  const second = service.publish("rtmp", "bob/cam", bob);
  await poll("it is live", () => service.server.hub.find("bob/cam"));
  await service.sql`update users set revoked_at = now() where username = 'bob'`;
  assert.notEqual(await exitOf(second), 0);
  assert.equal((await fetch(body.hls_url)).status, 404, "signed addresses go with the key");
});

for (const protocol of ["rtsp", "rtmp"] as const)
  test(`a revoked key disconnects its own clients, and a key that has expired those of ${protocol}`, async () => {
    const path = `ada/keys/${protocol}`;
    const { uuid } = await register(path, protocol);
    const { uuid: userUuid } = (await findUserByName(service.sql, "ada")) ?? assert.fail();
    const add = (scope: Scope) =>
      addKey(service.sql, { userUuid, name: scope, scopes: [scope], sourceUuids: null, expiresAt: null });
    const [publishes, reads] = [await add("publish"), await add("read")];
    assert.notEqual(await exitOf(service.publish(protocol, path, reads.key)), 0, "a key to read does not publish");
    const publisher = service.publish(protocol, path, publishes.key);
    await poll("it is live", () => service.server.hub.find(path));
    const url = new URL(service.address("rtsp", path));
    url.password = reads.key;
    const player = spawn("ffmpeg", ["-loglevel", "error", "-rtsp_transport", "tcp", "-i", url.href, "-f", "null", "-"]);
    const readersOf = () => service.server.hub.streamNumbers.find((stream) => stream.path === path)?.readers ?? 0;
    const without = readersOf();
    await poll("it plays", () => readersOf() > without);
    const index = `/source/${uuid}/hls/index.m3u8`;
    const hls = await (await service.app.call(index, { headers: { api_key: reads.key } })).text();
    const session = hls.split("\n").find((line) => line !== "" && !line.startsWith("#")) ?? assert.fail(hls);
    const playHls = async () => (await service.app.call(`/source/${uuid}/hls/${session}`)).status;
    assert.equal(await playHls(), 200);
    await revokeKey(service.sql, reads.row.uuid);
    await exitOf(player);
    await poll("its HLS session ends", async () => (await playHls()) === 403);
    assert.ok(service.server.hub.find(path), "its publisher has another key");
    await limitKey(service.sql, publishes.row.uuid, new Date());
    assert.notEqual(await exitOf(publisher), 0);
  });

test("a killed hub is restarted on the same ports, and its recordings are completed as far as they were written", async () => {
  const { hub } = service.server;
  const source = await register("ada/crashing");
  service.publish("rtsp", "ada/crashing", ada);
  await awaitStatus(source.uuid, "streaming");
  await poll("two seconds are recorded", async () => (await recordingsOf(source.uuid))[0]?.duration_seconds >= 2);
  const before = { rtsp: hub.rtspPort, rtmp: hub.rtmpPort, pid: hub.pid ?? 0, restarts: hub.numbers.restarts };
  const token = hub.issueToken("play", "ada/crashing");
  process.kill(before.pid, "SIGKILL");
  await poll("it is gone", () => hub.pid !== before.pid || hub.trouble !== null);
  assert.equal(await statusOf(source.uuid), "offline");
  await poll("it is back", () => hub.trouble === null && hub.pid !== before.pid);
  assert.deepEqual([hub.rtspPort, hub.rtmpPort, hub.numbers.restarts], [before.rtsp, before.rtmp, before.restarts + 1]);

  const [recording] = await poll("the recording is closed", async () => {
    const found = await recordingsOf(source.uuid);
    return found[0]?.stopped_at ? found : null;
  });
  const bytes = (await (await fetch(recording.segments[0].download_url)).arrayBuffer()).byteLength;
  assert.equal(bytes, recording.size_bytes);

  service.publish("rtsp", "ada/crashing", ada);
  await awaitStatus(source.uuid, "streaming");
  const { stdout } = await run("ffprobe", [
    ...["-v", "error", "-rtsp_transport", "tcp", "-show_entries", "stream=width", "-of", "csv=p=0", token.url],
  ]);
  assert.equal(stdout.trim(), "160", "tokens outlive a hub");
  token.revoke();
  await assert.rejects(run("ffprobe", ["-v", "error", "-rtsp_transport", "tcp", token.url]));
});

test("while the hub is down only streams are unavailable", async () => {
  const source = await register("ada/away");
  const { hub } = service.server;
  service.publish("rtsp", "ada/away", ada);
  await awaitStatus(source.uuid, "streaming");
  process.kill(hub.pid ?? 0, "SIGSTOP");
  const asking = service.call(ada, "GET", `/source/${source.uuid}/hls/index.m3u8`);
  assert.equal(await statusOf(source.uuid), "streaming");
  process.kill(hub.pid ?? 0, "SIGKILL");
  const { status, body, headers } = await asking;
  assert.deepEqual([status, body.code, headers.get("retry-after")], [503, "media_unavailable", "1"]);
  await poll("it is back", () => hub.trouble === null);
});
