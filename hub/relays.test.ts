/** Hubs of several nodes, each with its own streams and RTSP port. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, connect as openSocket, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { AccessUnit, Tracks } from "../media/access-unit.ts";
import { makeClip } from "../media/mp4/clip.fixture.ts";
import { RtspClient, readRtspAddress } from "../media/rtsp/client.ts";
import { TRACKS } from "../media/tracks.fixture.ts";
import { poll } from "../test/watch.fixture.ts";
import { Connections } from "./connections.ts";
import { StreamRejected } from "./errors.ts";
import { LIMITS } from "./hub.fixture.ts";
import type { LiveStream, Publication } from "./live-stream.ts";
import { KeepingReader } from "./reader.fixture.ts";
import { Relays } from "./relays.ts";
import { players } from "./rtsp/clients.fixture.ts";
import { openRtsp } from "./rtsp/session.ts";
import type { AccessRequest } from "./server-channel.ts";
import { Streams } from "./streams.ts";

const PATH = "ann/cam";
const TOKEN = "relay_token";
const STEP_MS = 40;

interface NodeOptions {
  readonly idleMs?: number;
  readonly waitMs?: number;
  /** Where another node has a stream. */
  readonly locate?: (path: string) => string | null;
}

async function openNode(t: TestContext, { idleMs = 300, waitMs = 3000, locate = () => null }: NodeOptions = {}) {
  const events: string[] = [];
  const limits = { ...LIMITS, idleMs, waitMs };
  const log = () => {};
  const streams = new Streams(limits, {
    published: ({ path }) => void events.push(`published ${path}`),
    unpublished: (path) => void events.push(`unpublished ${path}`),
    abandoned: (path) => void events.push(`abandoned ${path}`),
  });
  const relays = new Relays({
    ...{ streams, limits, log, locate: async (path) => locate(path) },
    pull: { stepMs: 500, silentMs: 500 },
  });
  const access = {
    async authorize({ action, secret }: AccessRequest) {
      if (secret === "key") return { recording: null };
      if (secret === TOKEN && action === "play") return { recording: null, isRelay: true };
      throw new StreamRejected("unauthorized", "the key is wrong");
    },
  };
  const connections = new Connections(limits);
  const place = { host: "127.0.0.1", port: 0 };
  const server = await openRtsp({ ...place, settings: { limits }, streams, access, connections, relays, log });
  t.after(async () => {
    relays.close();
    streams.close("the test is over");
    await server.close();
  });
  const url = (secret: string): string => `rtsp://any:${secret}@127.0.0.1:${server.port}/${PATH}`;
  return { streams, relays, events, connections, port: server.port, url, origin: () => url(TOKEN) };
}

/** Pictures that differ in their last bytes, 25 a second by their times, the first a keyframe. */
const pictureAt = (i: number, captureMs: number): AccessUnit => ({
  ...{ kind: "video", dtsUs: i * STEP_MS * 1000, ptsUs: i * STEP_MS * 1000, captureMs, isKey: i % 10 === 0 },
  parts: [
    ...(i % 10 === 0 ? TRACKS.video.sets : []),
    Buffer.concat([Buffer.alloc(3000, i % 10 === 0 ? 0x65 : 0x41), Buffer.from([1, i >> 8, i & 255, 1])]),
  ],
  klv: [{ ptsUs: i * STEP_MS * 1000, data: klvAt(i) }],
});

/** Of several packets. */
const klvAt = (i: number): Buffer => Buffer.concat([Buffer.from("060e2b34", "hex"), Buffer.alloc(3000, i)]);

const numberOf = ({ parts }: AccessUnit): number => {
  const bytes = Buffer.from(parts.at(-1) as Uint8Array);
  return bytes.readUInt16BE(bytes.length - 3);
};

class TestPublisher {
  readonly publication: Publication;
  readonly #beginMs: number;
  next = 0;
  #timer: NodeJS.Timeout | undefined;

  /** `lateMs`: how long ago its pictures were captured. `cached`: written at once; others follow after `begin`. */
  constructor(t: TestContext, publication: Publication, { lateMs = 0, cached = 0, begins = true } = {}) {
    this.publication = publication;
    this.#beginMs = Date.now() - lateMs - cached * STEP_MS;
    publication.setTracks({ ...TRACKS, klv: "asynchronous" });
    for (let i = 0; i <= cached; i += 1) this.#write();
    if (begins) this.begin();
    t.after(() => this.end());
  }

  begin(): void {
    this.#timer = setInterval(() => this.#write(), STEP_MS);
  }

  /** Of a picture. */
  captureMs(i: number): number {
    return this.#beginMs + i * STEP_MS;
  }

  end(): void {
    clearInterval(this.#timer);
    this.publication.close("the publisher ended the stream");
  }

  #write(): void {
    const picture = pictureAt(this.next, this.captureMs(this.next));
    this.publication.write(picture);
    this.publication.write({ ...picture, klv: [], kind: "audio", isKey: true, parts: [Buffer.alloc(100, this.next)] });
    this.next += 1;
  }
}

const readersOf = (streams: Streams): number => streams.list().find(({ path }) => path === PATH)?.readers ?? 0;

/** Every picture has a unit at its time, as far as sender reports say it: in milliseconds. It may come with the picture before. */
function expectKlv(pictures: readonly AccessUnit[]): void {
  const units = pictures.flatMap(({ klv = [] }) => klv).slice(0, pictures.length);
  assert.equal(units.length, pictures.length);
  for (const [i, { data, ptsUs }] of units.entries()) {
    assert.ok(klvAt(i).equals(data), `unit ${i}`);
    const pictureUs = pictures[i]?.ptsUs ?? Number.NaN;
    assert.ok(Math.abs(ptsUs - pictureUs) < 2_000, `unit ${i}: ${ptsUs}, ${pictureUs}`);
  }
}

test("a relay keeps pictures, their metadata, their intervals and their capture times, from the last keyframe on", async (t) => {
  const a = await openNode(t);
  const b = await openNode(t, { locate: a.origin });
  const publisher = new TestPublisher(t, a.streams.publish(PATH, "rtmp", null), {
    lateMs: 1500,
    cached: 7,
    begins: false,
  });
  await b.relays.want(PATH);
  const reader = new KeepingReader();
  b.streams.read(PATH, reader);
  publisher.begin();
  await poll("30 pictures, with audio", () => reader.units.length >= 60);
  const units = reader.units.map(({ unit }) => unit);
  // The cached pictures come first.
  for (const [kind, read] of [
    ["video", numberOf],
    ["audio", ({ parts }: AccessUnit) => parts[0]?.[0] ?? -1],
  ] as const) {
    const ofKind = units.filter((one) => one.kind === kind);
    if (kind === "video") expectKlv(ofKind);
    const beginUs = ofKind[0]?.ptsUs ?? Number.NaN;
    assert.ok(Math.abs(beginUs) < 100, `${kind} begins at ${beginUs} µs`);
    for (const [i, unit] of ofKind.entries()) {
      assert.equal(read(unit), i);
      assert.ok(Math.abs(unit.captureMs - publisher.captureMs(i)) < 2, `${unit.captureMs} ${publisher.captureMs(i)}`);
      assert.ok(Math.abs(unit.ptsUs - beginUs - i * STEP_MS * 1000) < 100, `${kind} ${i} at ${unit.ptsUs} µs`);
    }
  }
  const { video, audio } = reader.tracks[0] as Tracks;
  assert.deepEqual(
    [video.sets.map((set) => Buffer.from(set)), video.width, audio?.sampleRate],
    [TRACKS.video.sets, 320, 44_100],
  );
});

test("relays H.265 with open GOPs, from a keyframe on, with its parameter sets", async (t) => {
  const { tracks, units } = makeClip({ codec: "h265", seconds: 2, gop: 12, bFrames: 2 });
  const a = await openNode(t);
  const b = await openNode(t, { locate: a.origin });
  const publication = a.streams.publish(PATH, "rtsp", null);
  publication.setTracks(tracks);
  const key = units.findLastIndex(({ isKey }) => isKey);
  for (const unit of units.slice(0, key + 1)) publication.write(unit);
  await b.relays.want(PATH);
  const reader = new KeepingReader();
  b.streams.read(PATH, reader);
  for (const unit of units.slice(key + 1)) publication.write(unit);
  const begun = units[key]?.ptsUs ?? 0;
  const decodable = units.slice(key).filter(({ ptsUs }) => ptsUs >= begun);
  assert.ok(decodable.length < units.length - key, "there are pictures that refer to some before the keyframe");
  // The last one is known to be complete by its marker.
  await poll("all pictures", () => reader.units.length >= decodable.length);
  const read = reader.units.map(({ unit }) => unit);
  const bytesOf = (all: readonly AccessUnit[]) => all.map(({ parts }) => Buffer.concat(parts).toString("base64"));
  assert.deepEqual(bytesOf(read), bytesOf(decodable));
  assert.deepEqual(
    reader.tracks[0]?.video.sets.map((set) => Buffer.from(set)),
    tracks.video.sets.map((set) => Buffer.from(set)),
  );
  assert.equal(reader.tracks[0]?.video.codec, "h265");
  publication.close("over");
});

test("one connection for many readers, which ends some time after the last; nothing is reported to the server", async (t) => {
  const a = await openNode(t);
  const b = await openNode(t, { locate: a.origin });
  new TestPublisher(t, a.streams.publish(PATH, "rtmp", null));
  await Promise.all([1, 2, 3, 4].map(() => b.relays.want(PATH)));
  const leaves = [1, 2, 3, 4].map(() => b.streams.read(PATH, new KeepingReader()));
  const player = players.ffmpeg(b.url("key"), "tcp");
  await poll("a player reads", () => readersOf(b.streams) === 5);
  assert.deepEqual([readersOf(a.streams), a.connections.count], [1, 1]);
  // Longer than a relay without readers lasts.
  await new Promise((resolve) => setTimeout(resolve, 1000));
  assert.equal(readersOf(a.streams), 1);
  player.child.kill("SIGINT");
  for (const leave of leaves) leave();
  await poll("the relay ends", () => readersOf(a.streams) === 0 && a.connections.count === 0);
  assert.equal(b.streams.tracks(PATH), null);
  assert.deepEqual(b.events, []);
  await b.relays.want(PATH);
  assert.equal(readersOf(a.streams), 1);
});

test("readers end with the stream, and a stream without a publisher is not live", async (t) => {
  const a = await openNode(t);
  const b = await openNode(t, { locate: () => (a.streams.tracks(PATH) === null ? null : a.origin()) });
  await assert.rejects(b.relays.want(PATH), { kind: "not_live" });
  const publisher = new TestPublisher(t, a.streams.publish(PATH, "rtmp", null));
  await b.relays.want(PATH);
  const reader = new KeepingReader();
  b.streams.read(PATH, reader);
  publisher.end();
  await reader.until((words) => words.some((word) => word.startsWith("end")));
  assert.equal(reader.words.at(-1), "end the stream has ended");
  await assert.rejects(b.relays.want(PATH), { kind: "not_live" });
});

test("a relay is not relayed again: two nodes that each take the other for the origin reject players", async (t) => {
  let urlOfB = "";
  const a = await openNode(t, { waitMs: 800, locate: () => urlOfB });
  const b = await openNode(t, { waitMs: 800, locate: a.origin });
  urlOfB = b.origin();
  await assert.rejects(a.relays.want(PATH), { kind: "unavailable", message: /404/ });
  const c = await openNode(t, { waitMs: 800, locate: () => b.origin() });
  const origin = await openNode(t);
  new TestPublisher(t, origin.streams.publish(PATH, "rtmp", null));
  const relaying = await openNode(t, { locate: origin.origin });
  await relaying.relays.want(PATH);
  const third = await openNode(t, { waitMs: 800, locate: relaying.origin });
  await assert.rejects(third.relays.want(PATH), { kind: "unavailable", message: /404/ });
  await assert.rejects(c.relays.want(PATH), { kind: "unavailable", message: /404/ });
});

test("a publisher on this node replaces the relay", async (t) => {
  const a = await openNode(t);
  const b = await openNode(t, { locate: a.origin });
  new TestPublisher(t, a.streams.publish(PATH, "rtmp", null));
  await b.relays.want(PATH);
  const reader = new KeepingReader();
  b.streams.read(PATH, reader);
  new TestPublisher(t, b.streams.publish(PATH, "rtsp", null));
  assert.equal(reader.words.at(-1), "end the stream is published on this node now");
  assert.deepEqual(b.events, [`published ${PATH}`]);
  await b.relays.want(PATH);
  await poll("the relay ends", () => readersOf(a.streams) === 0);
  assert.equal(b.streams.isRelay(PATH), false);
});

test("retries while a reader waits, up to a limit, with the reason", async (t) => {
  const a = await openNode(t);
  let url = "rtsp://127.0.0.1:1/ann/cam";
  const b = await openNode(t, { locate: () => url, waitMs: 5000 });
  const wanted = b.relays.want(PATH);
  setTimeout(() => {
    new TestPublisher(t, a.streams.publish(PATH, "rtmp", null));
    url = a.origin();
  }, 300);
  await wanted;
  const c = await openNode(t, { locate: () => "rtsp://127.0.0.1:1/ann/cam", waitMs: 500 });
  await assert.rejects(c.relays.want(PATH), { kind: "unavailable", message: /ECONNREFUSED/ });
  const silent = createServer(() => {}).listen(0, "127.0.0.1");
  t.after(() => silent.close());
  await once(silent, "listening");
  const { port } = silent.address() as AddressInfo;
  const d = await openNode(t, { locate: () => `rtsp://127.0.0.1:${port}/ann/cam`, waitMs: 700 });
  await assert.rejects(d.relays.want(PATH), { kind: "unavailable", message: /did not answer DESCRIBE/ });
  const e = await openNode(t, { locate: () => a.url("wrong"), waitMs: 500 });
  await assert.rejects(e.relays.want(PATH), { kind: "unavailable", message: /401/ });
});

test("an origin that becomes unreachable without closing the connection ends the relay; a pause of the stream does not", async (t) => {
  const a = await openNode(t);
  const sockets: Socket[] = [];
  const proxy = createServer((socket) => {
    const onward = openSocket(a.port, "127.0.0.1");
    for (const one of [socket, onward]) one.on("error", () => {});
    sockets.push(socket, onward);
    socket.pipe(onward).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });
  const { port } = proxy.address() as AddressInfo;
  const b = await openNode(t, { locate: () => a.origin().replace(String(a.port), String(port)) });
  const stream = a.streams.publish(PATH, "rtsp", null, true) as LiveStream;
  stream.setTracks({ ...TRACKS, audio: null });
  stream.write(pictureAt(0, Date.now()));
  t.after(() => stream.close("over"));
  await b.relays.want(PATH);
  const reader = new KeepingReader();
  b.streams.read(PATH, reader);
  await new Promise((resolve) => setTimeout(resolve, 2000));
  stream.write(pictureAt(1, Date.now()));
  await poll("the picture after a pause", () => reader.units.length === 2);
  for (const socket of sockets) socket.unpipe().pause();
  await poll("the relay ends", () => reader.words.at(-1)?.startsWith("end") === true);
  assert.match(reader.words.at(-1) ?? "", /did not answer GET_PARAMETER/);
});

test("abandoned publications are reported, so that another node can accept the publisher", async (t) => {
  const a = await openNode(t);
  a.streams.publish(PATH, "rtsp", null).close("no keyframe");
  assert.deepEqual(a.events, [`abandoned ${PATH}`]);
  const address = readRtspAddress(a.url("key"));
  const client = await RtspClient.open(address, { stepMs: 5000 });
  t.after(() => client.fail("over"));
  const sdp = "v=0\r\nm=video 0 RTP/AVP 96\r\na=rtpmap:96 AV1/90000\r\n";
  await assert.rejects(client.request("ANNOUNCE", address.url, { "Content-Type": "application/sdp" }, sdp), /415/);
  assert.deepEqual(a.events.splice(1), [`abandoned ${PATH}`]);
  const publisher = new TestPublisher(t, a.streams.publish(PATH, "rtsp", null));
  a.streams.abandon(PATH);
  publisher.end();
  a.streams.abandon(PATH);
  assert.deepEqual(a.events.slice(1), [`published ${PATH}`, `unpublished ${PATH}`, `abandoned ${PATH}`]);
});
