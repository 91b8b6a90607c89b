import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createSocket, Socket } from "node:dgram";
import { after, test } from "node:test";
import type { AccessUnit, Tracks } from "../../media/access-unit.ts";
import { makeClip } from "../../media/mp4/clip.fixture.ts";
import { StatusError, StreamRejected } from "../errors.ts";
import type { Publication } from "../live-stream.ts";
import { Streams } from "../streams.ts";
import { chromiumOffer } from "./offer.fixture.ts";
import { writeBindingResponse } from "./stun.ts";
import { makeCertificate, readAnswer, TestViewer, writeBindingRequest } from "./test-viewer.fixture.ts";
import { Whep } from "./whep.ts";

const SPS = Uint8Array.of(0x67, 0x42, 0xc0, 0x1f, 1, 2, 3);
const PPS = Uint8Array.of(0x68, 1, 2);
const TRACKS: Tracks = {
  video: { codec: "h264", sets: [SPS, PPS], width: 640, height: 360, reorders: false },
  audio: null,
};
const FRAME_US = 40_000;

/** The n-th picture of a stream, of random bytes, with regular keyframes. */
function picture(n: number, { keyEvery = 1000, bytes = 3000 } = {}): AccessUnit {
  const isKey = n % keyEvery === 0;
  const slice = Uint8Array.from([isKey ? 0x65 : 0x41, ...randomBytes(bytes)]);
  const ptsUs = n * FRAME_US;
  return {
    ...{ kind: "video", dtsUs: ptsUs, ptsUs, captureMs: 1_790_000_000_000 + ptsUs / 1000, isKey },
    parts: isKey ? [SPS, PPS, slice] : [slice],
  };
}

const closers: (() => unknown)[] = [];
after(async () => {
  for (const close of closers.reverse()) await close();
});

function open({
  stalledMs = 20_000,
  connectMs = 20_000,
  readersPerStream = 4,
  tracks = TRACKS,
  first = picture(0),
} = {}) {
  const streams = new Streams({
    publishers: 4,
    readersPerStream,
    cacheBytes: 2 ** 24,
    keyBytes: 2 ** 30,
    frozenMs: 600_000,
    keylessMs: 600_000,
  });
  const said: string[] = [];
  const whep = new Whep({
    settings: {
      webrtc: { addresses: [], portFirst: 0, portLast: 0 },
      limits: { connectMs, stalledMs, readerBytes: 2 ** 21, readersPerStream, unitBytes: 2 ** 22 },
    },
    streams,
    log: (_level, _message, fields) => said.push(String(fields?.reason ?? "")),
  });
  const publication: Publication = streams.publish("ann/cam", "rtsp", null);
  publication.setTracks(tracks);
  publication.write(first);
  closers.push(
    () => streams.close("the test is over"),
    () => whep.closeAll(),
  );
  const readers = () => streams.list()[0]?.readers ?? 0;
  return { streams, whep, publication, said, readers };
}

async function watch(whep: Whep, options = {}, client?: string): Promise<TestViewer & { id: string }> {
  const viewer = await TestViewer.create(options);
  closers.push(() => viewer.close());
  const { id, sdp } = await whep.offer("ann/cam", viewer.offer, client);
  await viewer.connect(sdp);
  return Object.assign(viewer, { id });
}

const withoutSets = (nals: readonly Uint8Array[]) => nals.filter((nal) => ![7, 8].includes((nal[0] ?? 0) & 31));

test("a viewer gets the cached pictures at once, squeezed before the live ones, byte for byte", async () => {
  const { whep, publication } = open();
  const cached = [1, 2, 3, 4].map((n) => picture(n));
  for (const unit of cached) publication.write(unit);
  const viewer = await watch(whep);
  await viewer.until("five cached pictures", () => viewer.pictures.length >= 5);
  const live = [5, 6].map((n) => picture(n, { bytes: 40_000 }));
  for (const unit of live) publication.write(unit);
  await viewer.until("two live pictures", () => viewer.pictures.length >= 7);
  const times = viewer.pictures.map(({ timestamp }) => timestamp);
  const steps = times.slice(1).map((time, i) => (time - (times[i] as number)) | 0);
  assert.deepEqual(steps, [90, 90, 90, 90, 3600, 3600], "1 ms apart, then 40 ms");
  const got = viewer.pictures.slice(1).map(({ nals }) => Buffer.concat(nals).toString("hex"));
  assert.deepEqual(
    got,
    [...cached, ...live].map(({ parts }) => Buffer.concat(parts).toString("hex")),
  );
  assert.equal(viewer.pictures[0]?.nals.length, 3, "SPS and PPS come with the keyframe");
  assert.ok(withoutSets(viewer.pictures[0]?.nals ?? []).length === 1);
  assert.ok(
    viewer.packets.every(({ payloadType }) => payloadType === 103),
    "the type offered for this profile",
  );
  const marked = viewer.packets.filter(({ marker }) => marker).length;
  assert.equal(marked, 7, "the last packet of each picture is marked");
});

test("H.265 goes to a viewer that offers it, and others get the reason", async () => {
  const { tracks, units } = makeClip({ codec: "h265", seconds: 1, gop: 10, size: "64x64" });
  const [first, ...rest] = units;
  const { whep, publication } = open({ tracks, first });
  const viewer = await watch(whep, { codec: "h265" });
  for (const unit of rest) publication.write(unit);
  await viewer.until("all pictures", () => viewer.pictures.length >= units.length);
  assert.deepEqual(
    viewer.pictures.map(({ nals }) => Buffer.concat(nals).toString("hex")),
    units.map(({ parts }) => Buffer.concat(parts).toString("hex")),
  );
  await assert.rejects(whep.offer("ann/cam", chromiumOffer()), (error: StatusError) => {
    assert.match(
      error.message,
      /^This stream is H\.265, which this browser does not offer to decode\. Play it by RTSP/,
    );
    return error instanceof StatusError && error.status === 406;
  });
});

test("packets that a viewer has missed are sent again as they were", async () => {
  const { whep, publication } = open();
  const viewer = await watch(whep);
  publication.write(picture(1, { bytes: 20_000 }));
  await viewer.until("a live picture", () => viewer.pictures.length >= 2);
  const [lost] = viewer.packets.slice(-3);
  assert.ok(lost);
  const before = viewer.packets.length;
  const nack = Buffer.alloc(16);
  nack.writeUInt32BE(0x81cd0003, 0);
  nack.writeUInt16BE(lost.sequence, 12);
  nack.writeUInt16BE(0b11, 14);
  viewer.sendRtcp(nack);
  await viewer.until("three packets again", () => viewer.packets.length >= before + 3);
  assert.deepEqual(
    viewer.packets.slice(before).map(({ sequence }) => sequence),
    [0, 1, 2].map((step) => (lost.sequence + step) & 0xffff),
  );
  assert.deepEqual(viewer.packets[before]?.payload, lost.payload);
});

test("a viewer is closed immediately when its stream ends", async () => {
  const { whep, publication, said } = open();
  const viewer = await watch(whep);
  publication.close("the publisher has gone");
  await viewer.until("the good-bye", () => viewer.isClosed);
  assert.deepEqual(said, ["the publisher has gone"]);
});

test("a viewer closed by its id gets no more packets, and frees its place", async () => {
  const { whep, publication, readers } = open();
  const viewer = await watch(whep);
  assert.equal(readers(), 1);
  assert.ok(!whep.close("ann/other", viewer.id), "not by the address of another stream");
  assert.equal(readers(), 1);
  assert.ok(whep.close("ann/cam", viewer.id));
  assert.ok(!whep.close("ann/cam", viewer.id));
  assert.equal(readers(), 0);
  await viewer.until("the good-bye", () => viewer.isClosed);
  const before = viewer.packets.length;
  publication.write(picture(1));
  const again = await watch(whep);
  await again.until("a picture for another viewer", () => again.pictures.length > 0);
  assert.equal(viewer.packets.length, before);
});

test("stops sending when a viewer no longer answers checks, even if it sends other packets", async () => {
  const { whep, publication, said, readers } = open({ stalledMs: 1000 });
  const viewer = await TestViewer.create();
  closers.push(() => viewer.close());
  const { sdp } = await whep.offer("ann/cam", viewer.offer);
  await viewer.connect(sdp);
  viewer.answersChecks = false;
  const request = setInterval(() => {
    viewer.send(writeBindingRequest(readAnswer(sdp)));
    viewer.sendRtcp(Buffer.from("80c9000100000001", "hex"));
  }, 20);
  closers.push(() => clearInterval(request));
  while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.match(said[0] ?? "", /consent expired: the viewer answered no check for 1 s/);
  assert.equal(readers(), 0);
  assert.ok(viewer.checks > 1, "it was asked several times");
  const before = viewer.packets.length;
  publication.write(picture(1));
  const other = await watch(whep);
  await other.until("a picture for another viewer", () => other.pictures.length > 0);
  assert.equal(viewer.packets.length, before);
});

test("a request with a forged source address sends no video there", async () => {
  const { whep, publication, readers } = open();
  const viewer = await TestViewer.create();
  // Gets what the hub sends to the forged address. It knows no password, and answers nothing.
  const victim = createSocket("udp4");
  const sent: Buffer[] = [];
  victim.on("message", (data) => sent.push(data));
  closers.push(
    () => viewer.close(),
    () => victim.close(),
  );
  const { sdp } = await whep.offer("ann/cam", viewer.offer);
  await viewer.connect(sdp);
  await viewer.until("a picture", () => viewer.pictures.length > 0);
  const answer = readAnswer(sdp);
  const forge = () => victim.send(writeBindingRequest(answer), answer.port, "127.0.0.1");
  const timer = setInterval(forge, 20);
  closers.push(() => clearInterval(timer));
  while (sent.filter((data) => data.readUInt16BE(0) === 1).length < 3) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  for (let n = 1; n <= 20; n++) publication.write(picture(n));
  await viewer.until("all pictures, where they went before", () => viewer.pictures.length >= 21);
  // A response that was made up does not help: its transaction is not one of the hub's.
  const password = "5zTkRS9kFqKqqiPzPcbvyzYD";
  for (let i = 0; i < 20; i++) {
    victim.send(writeBindingResponse(randomBytes(12), "127.0.0.1", answer.port, password), answer.port, "127.0.0.1");
  }
  for (let n = 21; n <= 40; n++) publication.write(picture(n));
  await viewer.until("all pictures once more", () => viewer.pictures.length >= 41);
  assert.equal(readers(), 1);
  const kinds = new Set(sent.map((data) => (data[0] as number) >> 2));
  assert.deepEqual([...kinds], [0], "STUN, and neither DTLS nor video");
});

test("a viewer that forges the address of another one does not cut it off", async () => {
  const { whep, publication, readers } = open({ stalledMs: 1000 });
  const viewer = await watch(whep);
  await viewer.until("a picture", () => viewer.pictures.length > 0);
  const forger = readAnswer((await whep.offer("ann/cam", chromiumOffer())).sdp);
  const timer = setInterval(() => viewer.send(writeBindingRequest(forger)), 20);
  closers.push(() => clearInterval(timer));
  const { checks } = viewer;
  await viewer.until("more checks of its consent than one answer is good for", () => viewer.checks > checks + 6);
  publication.write(picture(1));
  await viewer.until("a live picture", () => viewer.pictures.length > 1);
  const lost = viewer.packets.at(-1)?.sequence ?? 0;
  const before = viewer.packets.length;
  viewer.sendRtcp(
    Buffer.concat([Buffer.from("81cd00030000000000000000", "hex"), Buffer.of(lost >> 8, lost & 255, 0, 0)]),
  );
  await viewer.until("a packet again", () => viewer.packets.length > before);
  assert.equal(readers(), 1, "the forger is not connected");
});

test("a viewer that moves to another address is sent video there once it answers from it", async () => {
  const { whep, publication } = open();
  const viewer = await TestViewer.create();
  closers.push(() => viewer.close());
  const { sdp } = await whep.offer("ann/cam", viewer.offer);
  await viewer.connect(sdp);
  await viewer.until("a picture", () => viewer.pictures.length > 0);
  await viewer.move();
  await viewer.reach(readAnswer(sdp));
  let n = 0;
  while (viewer.pictures.length < 2) {
    publication.write(picture(++n));
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
});

test("before its address has answered a check, a viewer is sent no handshake", async () => {
  const { whep } = open();
  const viewer = await TestViewer.create();
  closers.push(() => viewer.close());
  viewer.answersChecks = false;
  const { sdp } = await whep.offer("ann/cam", viewer.offer);
  await viewer.reach(readAnswer(sdp));
  viewer.startHandshake();
  const checks = viewer.checks;
  const timer = setInterval(() => viewer.send(writeBindingRequest(readAnswer(sdp))), 60);
  closers.push(() => clearInterval(timer));
  await viewer.until("more checks", () => viewer.checks >= checks + 5);
  assert.deepEqual(viewer.records, []);
  viewer.answersChecks = true;
  await viewer.until("the handshake", () => viewer.isConnected);
});

test("closes a viewer that never connects", async () => {
  const { whep, said, readers } = open({ connectMs: 200 });
  const { id } = await whep.offer("ann/cam", chromiumOffer());
  assert.equal(readers(), 0, "an offer alone does not add a reader");
  while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(whep.close("ann/cam", id), false);
  assert.match(said[0] ?? "", /did not connect within 0\.2 s/);
});

test("offers that never connect do not keep a viewer out, nor take the place of one that is connected", async () => {
  const { whep, publication, readers } = open({ readersPerStream: 2 });
  const first = await watch(whep);
  for (let i = 0; i < 5; i++) await whep.offer("ann/cam", chromiumOffer());
  assert.equal(readers(), 1);
  const second = await watch(whep);
  assert.equal(readers(), 2);
  publication.write(picture(1));
  for (const viewer of [first, second]) await viewer.until("a live picture", () => viewer.pictures.length >= 2);
});

test("rejects viewers of a stream that is not live, has B-frames or is full", async () => {
  const { whep, streams } = open({ readersPerStream: 1 });
  await assert.rejects(whep.offer("ann/other", chromiumOffer()), (error) => {
    assert.ok(error instanceof StreamRejected);
    return error.kind === "not_live";
  });
  await watch(whep);
  await assert.rejects(whep.offer("ann/cam", chromiumOffer()), (error) => {
    assert.ok(error instanceof StreamRejected);
    return error.kind === "too_many";
  });
  const reordering = streams.publish("ann/film", "rtsp", null);
  reordering.setTracks({ ...TRACKS, video: { ...TRACKS.video, reorders: true } });
  reordering.write(picture(0));
  await assert.rejects(whep.offer("ann/film", chromiumOffer()), (error) => {
    assert.ok(error instanceof StatusError);
    assert.match(error.message, /B-frames.*use HLS/);
    return error.status === 409;
  });
});

test("neither unconnected offers nor many viewers of one client block other clients", async () => {
  const { whep, readers, said } = open({ readersPerStream: 4 });
  const viewer = await TestViewer.create({});
  closers.push(() => viewer.close());
  const { sdp } = await whep.offer("ann/cam", viewer.offer, "192.0.2.1");
  for (let i = 0; i < 200; i++) await whep.offer("ann/cam", chromiumOffer(), `198.51.100.${i % 2}`);
  assert.equal(readers(), 0);
  assert.ok(said.length >= 196, "those that wait are few");
  await viewer.connect(sdp);
  await viewer.until("a picture", () => viewer.pictures.length > 0);
  for (let i = 0; i < 2; i++) await watch(whep, {}, "198.51.100.1");
  await assert.rejects(whep.offer("ann/cam", chromiumOffer(), "198.51.100.1"), /for one address reached \(2\)/);
  await watch(whep, {}, "192.0.2.7");
  assert.equal(readers(), 4);
});

test("a stream that gets B-frames while it is watched lets its viewers go", async () => {
  const { whep, publication, said, readers } = open();
  const viewer = await watch(whep);
  publication.setTracks({ ...TRACKS, video: { ...TRACKS.video, reorders: true } });
  publication.write({ ...picture(1), isKey: true });
  await viewer.until("the good-bye", () => viewer.isClosed);
  assert.match(said[0] ?? "", /B-frames/);
  assert.equal(readers(), 0);
});

test("sends no media to a client with another certificate than its offer, or without its key", async () => {
  const other = await makeCertificate();
  for (const [options, words] of [
    [{ fingerprint: other.fingerprint }, /certificate does not match its offer/],
    [{ keyPem: other.keyPem }, /handshake failed: .*signature/],
  ] as const) {
    const { whep, said, readers } = open();
    const viewer = await TestViewer.create(options);
    closers.push(() => viewer.close());
    const { sdp } = await whep.offer("ann/cam", viewer.offer);
    await viewer.reach(readAnswer(sdp));
    viewer.startHandshake();
    while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    assert.match(said[0] ?? "", words);
    assert.equal(readers(), 0);
    assert.equal(viewer.packets.length, 0);
  }
});

test("the port does not answer unknown clients, and other viewers are not affected", async () => {
  const { whep, publication } = open();
  const viewer = await TestViewer.create();
  const stranger = createSocket("udp4");
  closers.push(
    () => viewer.close(),
    () => stranger.close(),
  );
  const { sdp } = await whep.offer("ann/cam", viewer.offer);
  const answer = readAnswer(sdp);
  let answers = 0;
  stranger.on("message", () => answers++);
  const junk = [
    writeBindingRequest({ ...answer, password: "guessed" }),
    writeBindingRequest({ ...answer, ufrag: "guessed" }),
    writeBindingRequest(answer, { remoteUfrag: "other" }),
    Buffer.from("16fefd0000000000000000003001000024", "hex"),
    ...Array.from({ length: 200 }, (_, i) => Buffer.concat([Buffer.of(i, 200), randomBytes(i)])),
    Buffer.alloc(0),
  ];
  for (const data of junk) stranger.send(data, answer.port, "127.0.0.1");
  await viewer.connect(sdp);
  for (const data of junk) stranger.send(data, answer.port, "127.0.0.1");
  publication.write(picture(1));
  await viewer.until("a live picture", () => viewer.pictures.length >= 2);
  assert.equal(answers, 0);
});

test("invalid data of a connected viewer affects only itself", async () => {
  const { whep, publication } = open();
  const rude = await watch(whep);
  const hello = Buffer.from("16fefd0000000000000000003001000024000000000000002400", "hex");
  for (let i = 0; i < 400; i++) {
    rude.send(Buffer.concat([Buffer.of(20 + (i % 44)), randomBytes(i % 60)]));
    rude.send(Buffer.concat([Buffer.of(128 + (i % 64), 192 + (i % 32)), randomBytes(i % 60)]));
    rude.sendRtcp(Buffer.concat([Buffer.of(0x81, 200 + (i % 8), 0, i % 20), randomBytes(4 + (i % 40) * 4)]));
    rude.send(Buffer.concat([hello, randomBytes(i % 50)]));
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const viewer = await watch(whep);
  publication.write(picture(1));
  await viewer.until("a live picture", () => viewer.pictures.length >= 2);
});

const CHANGE_CIPHER_SPEC = 20;
const HANDSHAKE = 22;
const FINISHED = 20;

/** A handshake message: type, length, offset, and some of its bytes. */
function handshakeMessage(type: number, body: Buffer): Buffer {
  const message = Buffer.alloc(12 + body.length);
  message[0] = type;
  message.writeUIntBE(body.length, 1, 3);
  message.writeUInt16BE(9, 4);
  message.writeUIntBE(body.length, 9, 3);
  body.copy(message, 12);
  return message;
}

test("ignores a second handshake of a connected viewer, without effect on others", async () => {
  const { whep, publication } = open();
  const other = await TestViewer.create();
  closers.push(() => other.close());
  const { sdp } = await whep.offer("ann/cam", other.offer);
  await other.connect(sdp);
  for (let type = 0; type <= 24; type++) {
    const viewer = await watch(whep, { srtpProfiles: type % 2 === 0 ? [1] : [7] });
    await viewer.until("a picture", () => viewer.pictures.length >= 1);
    const before = viewer.records.length;
    viewer.send(viewer.sealRecord(22, handshakeMessage(type, Buffer.of(0))));
    viewer.send(viewer.sealRecord(22, handshakeMessage(type, randomBytes(80))));
    viewer.send(viewer.sealRecord(type, randomBytes(40)).fill(22, 0, 1));
    viewer.send(viewer.sealRecord(20, Buffer.of(1)));
    viewer.send(viewer.sealRecord(23, Buffer.of(1, 2, 3)));
    await other.settle(readAnswer(sdp));
    publication.write(picture(2 * type + 1));
    await other.until("a live picture", () => other.pictures.length >= type + 2);
    const listRecords = () => viewer.records.slice(before);
    // A repeated Finished says that our last flight was lost: it is sent again. Everything else gets an alert at most.
    if (type === FINISHED) await viewer.until("the last flight", () => listRecords().includes(CHANGE_CIPHER_SPEC));
    const records = listRecords();
    if (type !== FINISHED)
      assert.ok(!records.includes(HANDSHAKE) && !records.includes(CHANGE_CIPHER_SPEC), `${type}: ${records}`);
    whep.close("ann/cam", viewer.id);
  }
});

test("a flight of the handshake that is lost is sent again", async () => {
  const { whep } = open();
  const viewer = await TestViewer.create();
  closers.push(() => viewer.close());
  Object.assign(viewer.losing, { type: HANDSHAKE, count: 1 });
  const { sdp } = await whep.offer("ann/cam", viewer.offer);
  await viewer.connect(sdp);
  await viewer.until("a picture", () => viewer.pictures.length > 0);
  assert.ok(viewer.losing.count <= 0, "one was lost");
});

test("a DTLS close_notify closes the viewer", async () => {
  const { whep, said } = open();
  const viewer = await watch(whep);
  viewer.send(viewer.sealRecord(21, Buffer.of(1, 0)));
  while (said.length === 0) await new Promise((resolve) => setTimeout(resolve, 10));
  assert.deepEqual(said, ["the viewer closed the connection"]);
});

test("ignores packets from port 0, which cannot be answered", async (t) => {
  const bound: Socket[] = [];
  const { bind } = Socket.prototype;
  t.mock.method(Socket.prototype, "bind", function (this: Socket, ...given: unknown[]) {
    bound.push(this);
    return Reflect.apply(bind, this, given) as Socket;
  });
  const { whep, publication } = open();
  const { sdp } = await whep.offer("ann/cam", chromiumOffer());
  const request = writeBindingRequest(readAnswer(sdp));
  for (const socket of bound) socket.emit("message", request, { address: "127.0.0.1", port: 0 });
  const viewer = await watch(whep);
  publication.write(picture(1));
  await viewer.until("a live picture", () => viewer.pictures.length >= 2);
});

test("without the addon for DTLS an offer gets 503, and the next one tries again", async (t) => {
  const { whep } = open();
  t.after(() => delete process.env.WINDHOVER_DTLS_ADDON);
  process.env.WINDHOVER_DTLS_ADDON = "/nonexistent/dtls.node";
  await assert.rejects(whep.offer("ann/cam", chromiumOffer()), (error) => {
    assert.ok(error instanceof StatusError);
    assert.match(error.message, /WebRTC is unavailable.*dtls\.node/s);
    return error.status === 503;
  });
  delete process.env.WINDHOVER_DTLS_ADDON;
  await whep.offer("ann/cam", chromiumOffer());
});

test("names the port that is in use", async () => {
  const taken = createSocket("udp4");
  await new Promise<void>((resolve) => taken.bind(0, resolve));
  const { port } = taken.address();
  const streams = new Streams({
    publishers: 1,
    readersPerStream: 1,
    cacheBytes: 2 ** 20,
    keyBytes: 2 ** 30,
    frozenMs: 600_000,
    keylessMs: 600_000,
  });
  const whep = new Whep({
    settings: {
      webrtc: { addresses: [], portFirst: port, portLast: port },
      limits: { connectMs: 1000, stalledMs: 1000, readerBytes: 2 ** 20, readersPerStream: 4, unitBytes: 2 ** 22 },
    },
    streams,
    log: () => {},
  });
  closers.push(() => streams.close("the test is over"));
  const publication = streams.publish("ann/cam", "rtsp", null);
  publication.setTracks(TRACKS);
  publication.write(picture(0));
  await assert.rejects(
    whep.offer("ann/cam", chromiumOffer()),
    new RegExp(`no UDP port from ${port} to ${port} is free`),
  );
  await new Promise<void>((resolve) => taken.close(() => resolve()));
  const { sdp } = await whep.offer("ann/cam", chromiumOffer());
  assert.equal(readAnswer(sdp).port, port);
  await whep.closeAll();
  await assert.rejects(whep.offer("ann/cam", chromiumOffer()), /shutting down/);
});
