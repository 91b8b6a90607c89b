/** Streams that are published on one node, played and processed through any. The last test kills the first node. */
import assert from "node:assert/strict";
import { type ChildProcess, execFile } from "node:child_process";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { publishRtsp } from "../../../media/rtsp/publisher.ts";
import { TRACKS } from "../../../media/tracks.fixture.ts";
import type { AccountEvent } from "../../../schemas/api/account-events.ts";
import type { OutputRecord } from "../../../schemas/api/outputs.ts";
import type { Problem } from "../../../schemas/api/problem.ts";
import type { ProcessRecord } from "../../../schemas/api/processes.ts";
import type { SourceRecord } from "../../../schemas/api/sources.ts";
import { keepPublishing, spawnPublisher } from "../../../server/media/publisher.fixture.ts";
import { MASTER_KEY, type TestService } from "../../api/service.fixture.ts";
import { playWithGst } from "../../gst-player.fixture.ts";
import { haproxyIsMissing } from "../../haproxy.fixture.ts";
import { poll, until } from "../../watch.fixture.ts";
import { answeringNode, balance, ownRecord, read, start } from "../cluster.fixture.ts";
import { addressesOf, exitOf, play, publish, readersOf, registerStream, view } from "../streams.fixture.ts";
import { first, second } from "./two-nodes.fixture.ts";

const run = promisify(execFile);
const KEY = `?api_key=${MASTER_KEY}`;
const PATH = "master/drones/one";
interface Recording {
  readonly uuid: string;
  readonly stopped_at: string | null;
}

/** Not a measurement: only turns a hang into a failure. */
const LIMIT_MS = 60_000;

const [a, b] = [await addressesOf(first), await addressesOf(second)];
const source = await registerStream(first, "drone", `${a.rtmp}/${PATH}`);

const statusOn = async (service: TestService) =>
  (await service.expect<SourceRecord>(200, "GET", `/source/${source.uuid}`)).status;
const awaitStatus = (service: TestService, status: SourceRecord["status"]) =>
  poll(`the source is ${status}`, async () => (await statusOn(service)) === status);

/** For several tests: not ended with the one that starts it. */
let publisher: ChildProcess | null = null;
after(() => publisher?.kill("SIGKILL"));

test("every node shows a stream as live, in kept listings, too", async () => {
  publisher = spawnPublisher(`${a.rtmp}/${PATH}${KEY}`);
  await awaitStatus(first, "streaming");
  await awaitStatus(second, "streaming");
  const { sources } = await second.expect<{ sources: SourceRecord[] }>(200, "GET", "/sources");
  assert.equal(sources.find(({ uuid }) => uuid === source.uuid)?.status, "streaming");
});

test("RTSP and WebRTC players of another node share one connection to the node that publishes", async () => {
  const player = play(`${b.rtsp}/${PATH}${KEY}`);
  const played = await playWithGst([
    ...["-v", "rtspsrc", `location=${b.rtsp}/${PATH}${KEY}`, "protocols=tcp", "!"],
    ...["rtph264depay", "!", "h264parse", "!", "identity", "eos-after=25", "!", "fakesink", "silent=false"],
  ]);
  assert.match(played, /width=\(int\)160/);
  const buffers = played.match(/last-message = chain /g)?.length ?? 0;
  assert.ok(buffers >= 20, `it played ${buffers} of 25 buffers`);
  const { location } = await view(second, source.uuid);
  await poll("two players", async () => (await readersOf(second)) === 2);
  assert.equal(await readersOf(first), 1);
  // A load balancer can send the end of the session to any node.
  const { pathname, search } = new URL(location);
  await first.expect(200, "DELETE", `${pathname}${search}`, { key: null });
  await poll("one player", async () => (await readersOf(second)) === 1);
  player.kill("SIGKILL");
  await poll("the relay ends", async () => (await readersOf(first)) === 0);
});

test("HLS of another node, with a key and with the signed URLs of playlists", async () => {
  const { hls_url = "" } = await second.expect<SourceRecord>(200, "GET", `/source/${source.uuid}`);
  assert.ok(hls_url.startsWith(second.url), hls_url);
  const words = "-v error -show_entries stream=codec_name,width -of csv=p=0".split(" ");
  const { stdout } = await run("ffprobe", [...words, hls_url], { timeout: LIMIT_MS });
  assert.match(stdout, /^h264,160/m);
  const playlist = await second.call<string>("GET", `/source/${source.uuid}/hls/index.m3u8`);
  assert.match(playlist.text, /#EXTM3U/);
  const denied = await second.call("GET", `/source/${source.uuid}/hls/index.m3u8?token=wrong`, { key: null });
  assert.equal(denied.status, 403);
});

test("a second publisher is rejected on any node, with the reason, and tokens of relays cannot be forged", async () => {
  await assert.rejects(publishRtsp(`${b.rtsp}/${PATH}${KEY}`, { ...TRACKS, audio: null }), {
    message: `the server rejected ANNOUNCE: 403 /${PATH} is published on another node`,
  });
  assert.notEqual(await exitOf(publish(`${b.rtmp}/${PATH}${KEY}`)), 0);
  const reason = "rtmp publisher rejected: /master/drones/one is published on another node";
  await poll("the reason is logged", async () => second.serving.stderr.includes(reason));
  const end = Math.ceil(Date.now() / 1000 + 60).toString(36);
  for (const token of ["relay_", `relay_${end}.${"A".repeat(43)}`])
    assert.notEqual(await exitOf(play(`${a.rtsp.replace("//", `//relay:${token}@`)}/${PATH}`, 1)), 0);
  assert.equal(await statusOn(second), "streaming");
});

test("a process on one node reads a stream of another, and its output is played through both", async () => {
  const { process_uuid: uuid } = await start(second, source.uuid, {
    node_labels: { site: "b" },
  });
  const output = await second.expect<OutputRecord>(201, "POST", "/output", {
    json: { alias: "processed", type: "rtsp", url: "rtsp://drones/processed", settings: "360p" },
  });
  await first.expect(200, "POST", `/process/${uuid}/${output.uuid}`);
  await poll("frames flow", async () => (await read(first, uuid)).stats.fps_in > 0);
  await poll(
    "the output is live",
    async () => (await first.expect<OutputRecord>(200, "GET", `/output/${output.uuid}`)).status === "live",
  );
  const path = "master/drones/processed";
  for (const { rtsp } of [a, b]) assert.equal(await exitOf(play(`${rtsp}/${path}${KEY}`, 20)), 0, rtsp);
  const hls = await first.call<string>("GET", `/output/${output.uuid}/hls/index.m3u8`);
  assert.match(hls.text, /#EXTM3U/);
  // The publisher moves to the node of the process: the relay is replaced, and the process continues.
  publisher?.kill("SIGKILL");
  await awaitStatus(first, "offline");
  publisher = await poll("accepted on the other node", async () => {
    const again = publish(`${b.rtmp}/${PATH}${KEY}`);
    const isRejected = await Promise.race([
      exitOf(again).then(() => true),
      new Promise((done) => setTimeout(done, 3000)),
    ]);
    return isRejected === true ? null : again;
  });
  await poll("frames flow again", async () => {
    const { reconnecting, stats } = await read(first, uuid);
    return !reconnecting && stats.fps_in > 0;
  });
  assert.equal((await read(first, uuid)).state satisfies ProcessRecord["state"], "running");
  assert.equal(await exitOf(play(`${a.rtsp}/${PATH}${KEY}`, 20)), 0);
  await first.expect(200, "DELETE", `/process/${uuid}`);
  publisher?.kill("SIGKILL");
  await awaitStatus(first, "offline");
  await awaitStatus(second, "offline");
});

test("a process that waits on one node begins when its stream is published on the other, and waits again", async () => {
  const waiting = await registerStream(first, "waited for", `${a.rtmp}/master/drones/late`, "always");
  const { process_uuid: uuid } = await start(first, waiting.uuid, {
    ...{ node_labels: { site: "b" }, wait: true, keep: true },
  });
  const reach = (state: ProcessRecord["state"]) =>
    poll(`the process is ${state}`, async () => (await read(first, uuid)).state === state);
  await reach("waiting");
  const late = publish(`${a.rtmp}/master/drones/late${KEY}`);
  await reach("running");
  late.kill("SIGKILL");
  await reach("waiting");
  await second.expect(200, "DELETE", `/process/${uuid}`);
  const { events } = await second.expect<{ events: AccountEvent[] }>(200, "GET", `/events?process=${uuid}&after=0`);
  assert.deepEqual(
    events.map(({ type }) => type).filter((type) => !type.startsWith("process-reconnect")),
    ["process-waiting", "process-started", "process-waiting", "process-finished"],
  );
});

test("host names of one node are names of the media server on every node", async () => {
  const port = new URL(a.rtsp).port;
  const named = await registerStream(second, "by name", `rtsp://cams-a.example:${port}/master/named`);
  assert.ok(named.hls_url?.startsWith(second.url));
});

test("a killed node: requests continue, its recordings are unavailable, and its publisher is accepted after the lease", async (t) => {
  const haproxy = haproxyIsMissing === false ? await balance([first, second]) : null;
  publish(`${a.rtmp}/${PATH}${KEY}`);
  await awaitStatus(second, "streaming");
  // Of the stream that a process has waited for.
  const recorded = await poll("a recording that has ended", async () => {
    const { recordings } = await second.expect<{ recordings: Recording[] }>(200, "GET", "/sources/recordings");
    return recordings.find(({ stopped_at }) => stopped_at !== null);
  });
  first.serving.child.kill("SIGKILL");
  await first.serving.ended;
  if (haproxy !== null) {
    const { uuid } = await ownRecord(second);
    for (let i = 0; i < 20; i += 1) assert.equal(await answeringNode(haproxy.url), uuid);
    await until(async () => (await haproxy.states()).node1?.startsWith("DOWN") === true);
  }
  const again = keepPublishing(`${b.rtmp}/${PATH}${KEY}`);
  t.after(() => again.end());
  const logged = second.serving.stderr.length;
  const lost = await second.call<Problem>("POST", `/start?recording_uuid=${recorded.uuid}`);
  assert.deepEqual([lost.status, lost.body.code], [409, "recording_unavailable"], lost.body.detail);
  await poll("accepted", async () => second.serving.stderr.slice(logged).includes("stream started"));
  await awaitStatus(second, "streaming");
  assert.equal(await exitOf(play(`${b.rtsp}/${PATH}${KEY}`, 20)), 0);
  assert.equal(await second.serving.stop(), 0);
});
