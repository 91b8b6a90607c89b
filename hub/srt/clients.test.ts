/** Streams of ffmpeg, GStreamer and srt-live-transmit arrive unchanged, and all three play them. */
import assert from "node:assert/strict";
import { existsSync, statSync } from "node:fs";
import { open, readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { test } from "node:test";
import { SrtSockets } from "../../media/srt/socket.ts";
import { keepFile } from "../../test/kept-files.fixture.ts";
import { makeFlv, type Packet, readPackets, toPackets } from "../rtmp/clips.fixture.ts";
import { ffmpeg, KEY, runProgram, type Taken, testFolder } from "../rtmp/rtmp.fixture.ts";
import { openSrtIngest, publishByGst, publishByTransmit, publishFile, srtUrl, start, streamId } from "./srt.fixture.ts";

const ingest = await openSrtIngest();
const [plain, rich] = await Promise.all([makeFlv(), makeFlv({ bFrames: 2, hasSound: true })]);

const only = (packets: readonly Packet[], kind: Packet["kind"]) => packets.filter((packet) => packet.kind === kind);
const digests = (packets: readonly Packet[]) => packets.map(({ digest }) => digest);

/** Digests of the decoded pictures. */
async function decode(file: string): Promise<string[]> {
  const { output } = await ffmpeg("-i", file, "-map", "0:v", "-fps_mode", "passthrough", "-f", "framemd5", "-");
  return output.split("\n").flatMap((line) => /^0,.*, *([0-9a-f]{32})$/.exec(line)?.[1] ?? []);
}

/** The same of a file that fixed arguments have made. */
async function decodeOnce(file: string): Promise<string[]> {
  const kept = await keepFile(["decoded", basename(file), "json"], async (path) =>
    writeFile(path, JSON.stringify(await decode(file))),
  );
  return JSON.parse(await readFile(kept, "utf8"));
}

/** Clients may begin late or be ended early, but drop nothing in between. MPEG-TS has ticks of 11 µs. */
function assertSame({ units, tracks }: Taken, sent: readonly Packet[], most: number): void {
  const came = only(toPackets(units), "video");
  const video = only(sent, "video");
  const arrived = new Set(digests(came));
  const missing = digests(video).flatMap((digest, number) => (arrived.has(digest) ? [] : [number]));
  assert.ok(missing.length <= most, `of ${video.length} pictures these are missing: ${missing.join()}`);
  const begin = digests(video).indexOf(came[0]?.digest ?? "");
  assert.deepEqual(digests(came), digests(video.slice(begin, begin + came.length)));
  const first = video[begin]?.ptsMs ?? 0;
  came.forEach((packet, i) => {
    const expected = (video[begin + i] as Packet).ptsMs - first;
    assert.ok(
      Math.abs(packet.ptsMs - (came[0]?.ptsMs ?? 0) - expected) <= 1,
      `picture ${i}: ${packet.ptsMs}, ${expected}`,
    );
  });
  assert.equal(tracks.length, 1);
}

test("ffmpeg: every picture arrives with its time and its bytes, with B-frames and audio", async () => {
  const { code, output } = await publishFile(rich, srtUrl(ingest.port, streamId("user/ffmpeg", "publish")));
  assert.equal(code, 0, output);
  const taken = await ingest.finished("user/ffmpeg");
  const sent = await readPackets(rich);
  assertSame(taken, sent, 0);
  const { video, audio } = taken.tracks[0] ?? assert.fail();
  assert.deepEqual([video.width, video.height, video.reorders, audio?.sampleRate], [160, 120, true, 44_100]);
  const sound = digests(only(toPackets(taken.units), "audio"));
  assert.ok(sound.length > 20, `${sound.length} audio frames`);
  assert.ok(sound.every((digest) => digests(only(sent, "audio")).includes(digest)));
  assert.equal(taken.reason, "the publisher closed the connection");
});

test("GStreamer: every picture arrives", async () => {
  const sent = await readPackets(plain);
  const ended = new AbortController();
  const publishing = publishByGst(plain, ingest.port, streamId("user/gst", "publish"), ended.signal);
  const isWhole = ({ path, units }: Taken) => path === "user/gst" && units.length >= only(sent, "video").length;
  await Promise.race([ingest.until(() => ingest.taken.some(isWhole)), publishing]);
  ended.abort();
  const { output } = await publishing;
  assert.ok(ingest.taken.some(isWhole), output);
  assertSame(await ingest.finished("user/gst"), sent, 0);
});

test("srt-live-transmit: pictures arrive from a keyframe on", async () => {
  const { code, output } = await publishByTransmit(plain, ingest.port, streamId("user/transmit", "publish"));
  assert.equal(code, 0, output);
  assertSame(await ingest.finished("user/transmit"), await readPackets(plain), 24);
});

test("several callers publish and play on one port, and each stream has its own pictures", async () => {
  // Longer than programs take to start on a busy machine: they are ended when the players have a part of it.
  const long = await makeFlv({ frames: 750 });
  const folder = testFolder();
  const publishers = ["user/one", "user/two"].map((path) =>
    start("ffmpeg", [
      ...["-v", "error", "-re", "-i", long, "-c", "copy", "-f", "mpegts"],
      srtUrl(ingest.port, streamId(path, "publish")),
    ]),
  );
  await ingest.until(() => ingest.streams.tracks("user/one") !== null && ingest.streams.tracks("user/two") !== null);
  const files = {
    ffmpeg: join(folder, "ffmpeg.ts"),
    gst: join(folder, "gst.ts"),
    transmit: join(folder, "transmit.ts"),
  };
  const transmitted = await open(files.transmit, "w");
  const url = srtUrl(ingest.port, streamId("user/one", "request"));
  const transmit = start("srt-live-transmit", ["-q", url, "file://con"], transmitted.fd);
  const playing = runProgram("gst-launch-1.0", [
    ...["-q", "srtsrc", `uri=srt://127.0.0.1:${ingest.port}`, `streamid=${streamId("user/two", "request")}`],
    ...["auto-reconnect=false", "!", "filesink", `location=${files.gst}`],
  ]);
  const played = await ffmpeg("-i", url, "-map", "0", "-c", "copy", "-frames:v", "60", files.ffmpeg);
  const least = statSync(long).size / 8;
  await ingest.until(() =>
    [files.gst, files.transmit].every((file) => existsSync(file) && statSync(file).size > least),
  );
  for (const publisher of publishers) publisher.kill("SIGKILL");
  const gst = await playing;
  transmit.kill("SIGKILL");
  await transmitted.close();
  assert.equal(played.code, 0, played.output);
  const sent = await decodeOnce(long);
  for (const file of Object.values(files)) {
    const decoded = await decode(file);
    // The program was killed while it wrote: its last picture may be cut off.
    const came = file === files.transmit ? decoded.slice(0, -1) : decoded;
    assert.ok(came.length >= 50, `${file}: ${came.length} pictures; ${gst.output}`);
    const begin = sent.indexOf(came[0] ?? "");
    assert.ok(begin >= 0, file);
    assert.deepEqual(came, sent.slice(begin, begin + came.length), file);
  }
});

test("measures the link of a publisher", async () => {
  const publishing = publishFile(plain, srtUrl(ingest.port, streamId("user/link", "publish")));
  const link = await ingest.until(() => {
    const stats = ingest.streams.list().find(({ path }) => path === "user/link");
    return stats?.link !== undefined && stats.link.received > 20 && stats;
  });
  assert.ok((link.link?.rttMs ?? 0) > 0 && (link.link?.rttMs ?? 1e9) < 1000);
  assert.equal(link.link?.dropped, 0);
  assert.ok(link.jitterMs >= 0);
  await publishing;
});

/** Calls until it gets a code: a busy server accepts first and closes then, which has none, or 0. */
async function call(port: number, id: string, passphrase: string | null = null): Promise<number> {
  const sockets = new SrtSockets();
  try {
    for (;;) {
      const connection = sockets.connect({
        ...{ host: "127.0.0.1", port, latencyMs: 120, passphrase, streamId: id, timeoutMs: 20_000 },
      });
      const code = await ingest.until(() => {
        const { state, code } = connection.state;
        const hasEnded = state === "connected" && connection.receive() === null;
        return (state === "closed" && { code }) || (hasEnded && { code: null });
      });
      connection.close();
      if (code.code) return code.code;
    }
  } finally {
    sockets.close();
  }
}

test("rejects callers with the codes of SRT Access Control", async () => {
  for (const [id, code] of [
    ["user/plain", 1400],
    ["", 1400],
    ["#!::r=..,u=x", 1400],
    ["#!::r=user/a,r=user/b", 1400],
    [streamId("user/x", "publish", null), 1401],
    [streamId("user/x", "publish", "wh_1_wrong"), 1401],
    [streamId("other/x", "publish"), 1403],
    [streamId("user/none", "request"), 1404],
    [`#!::r=user/x,u=${KEY},m=bidirectional`, 1405],
    [`#!::r=user/x,u=${KEY},t=file`, 1415],
  ] as const)
    assert.equal(await call(ingest.port, id), code, id);
});

test("rejects a second publisher of a path, and one above the limit of connections", async () => {
  const long = await makeFlv({ frames: 100 });
  const publishing = publishFile(long, srtUrl(ingest.port, streamId("user/taken", "publish")));
  await ingest.until(() => ingest.streams.tracks("user/taken"));
  assert.equal(await call(ingest.port, streamId("user/taken", "publish")), 1409);
  const full = await openSrtIngest({ limits: { connectionsPerAddress: 0 } });
  assert.equal(await call(full.port, streamId("user/x", "publish")), 1402);
  await full.close();
  assert.equal((await publishing).code, 0);
  const taken = await ingest.finished("user/taken");
  assert.equal(only(toPackets(taken.units), "video").length, 100);
});

test("receives the end of a stream whose handshake has waited for the authorization", async () => {
  const slow = await openSrtIngest();
  const { authorize } = slow;
  slow.authorize = async (request) => {
    await new Promise((resolve) => setTimeout(resolve, 59));
    return authorize(request);
  };
  await publishFile(plain, srtUrl(slow.port, streamId("user/slow", "publish")));
  assertSame(await slow.finished("user/slow"), await readPackets(plain), 0);
  await slow.close();
});

test("with a passphrase, accepts only callers that have it, and releases the path of others", async () => {
  const passphrase = "correct-horse-battery";
  const secured = await openSrtIngest({ passphrase });
  // SRT_REJ_BADSECRET and SRT_REJ_UNSECURE.
  assert.equal(await call(secured.port, streamId("user/x", "publish"), "another passphrase"), 10);
  await secured.until(() => secured.connections.count === 0);
  assert.equal(await call(secured.port, streamId("user/x", "publish")), 11);
  await secured.until(() => secured.connections.count === 0);
  const url = srtUrl(secured.port, streamId("user/x", "publish"), `&passphrase=${passphrase}`);
  const { code, output } = await publishFile(plain, url);
  assert.equal(code, 0, output);
  assert.equal(only(toPackets((await secured.finished("user/x")).units), "video").length, 50);
  await secured.close();
});
