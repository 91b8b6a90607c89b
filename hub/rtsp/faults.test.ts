import assert from "node:assert/strict";
import { createSocket, Socket } from "node:dgram";
import { once } from "node:events";
import { connect } from "node:net";
import { describe, type TestContext, test } from "node:test";
import type { AccessUnit } from "../../media/access-unit.ts";
import { readRtp, timestampStep } from "../../media/rtp/packet.ts";
import { readSenderReport } from "../../media/rtp/rtcp.ts";
import { until } from "../../test/watch.fixture.ts";
import { makeClip, players, publishers } from "./clients.fixture.ts";
import { openServer } from "./rtsp.fixture.ts";
import { BASIC, FakeCamera, PLAY_TCP, SDP, Talk } from "./talk.fixture.ts";

async function open(t: TestContext, ...given: Parameters<typeof openServer>) {
  const server = await openServer(...given);
  t.after(async () => {
    await server.close();
    assert.deepEqual(server.faults, []);
  });
  return server;
}

type Server = Awaited<ReturnType<typeof openServer>>;

async function watch(server: Server, path: string, transport: Record<string, string> = PLAY_TCP) {
  const player = await Talk.open(server.port);
  const setUp = await player.ask("SETUP", `${server.url(path, null)}/trackID=0`, { ...BASIC, ...transport });
  assert.equal(setUp?.status, 200, setUp?.reason);
  assert.equal(await player.say("PLAY", server.url(path, null)), "200 OK");
  return { player, transport: setUp?.headers.get("transport") ?? "" };
}

async function film(server: Server, path: string, keyEvery = 10) {
  const camera = await FakeCamera.open(server.url(path), keyEvery);
  camera.shoot();
  await until(() => server.streams.tracks(path) !== null);
  return camera;
}

/** A publisher by UDP that may send. `port`: where its packets go. */
async function announceUdp(server: Server, path: string, rtcpPort: number) {
  const client = await Talk.open(server.port);
  const url = server.url(path, null);
  assert.equal(await client.say("ANNOUNCE", url, BASIC, SDP), "200 OK");
  const transport = { Transport: `RTP/AVP;unicast;client_port=${rtcpPort - 1}-${rtcpPort};mode=record` };
  const setUp = await client.ask("SETUP", `${url}/streamid=0`, transport);
  const port = Number(/server_port=(\d+)-/.exec(setUp?.headers.get("transport") ?? "")?.[1]);
  assert.equal(port % 2, 0);
  assert.equal(await client.say("RECORD", url), "200 OK");
  return { client, url, port };
}

async function bindUdp(address: string): Promise<Socket> {
  const socket = createSocket("udp4");
  socket.bind(0, address);
  await once(socket, "listening");
  return socket;
}

/** A picture in one packet. */
const rtpPacket = (sequence: number, payload: Buffer): Buffer =>
  Buffer.concat([Buffer.from([0x80, 0xe0, 0, sequence, 0, 0, 0, sequence, 0, 0, 0, 9]), payload]);

function shootKey(socket: Socket, port: number, sequence: number): void {
  socket.send(rtpPacket(sequence, KEY_PICTURE), port, "127.0.0.1");
}

async function sendKey(from: string, port: number, sequence: number): Promise<Socket> {
  const socket = await bindUdp(from);
  shootKey(socket, port, sequence);
  return socket;
}

describe("slow, frozen and hostile clients", { concurrency: 4 }, () => {
  test("a player that stops reading loses pictures up to a keyframe, and other players lose none", async (t) => {
    // On a busy machine it takes longer than usual until it has lost a hundred pictures: it must not be closed before.
    const server = await open(t, { stalledMs: 120_000 });
    const camera = await film(server, "owner/slow");
    const { player: slow } = await watch(server, "owner/slow");
    const { player: quick } = await watch(server, "owner/slow");
    slow.socket.pause();
    let sent = 1;
    const missed = (): number => server.streams.list()[0]?.missed ?? assert.fail("the publisher has gone");
    while (missed() < 100) {
      if (camera.shoot(100_000)) sent++;
      await new Promise((resolve) => setImmediate(resolve));
    }
    await until(() => countPictures(quick) === sent);
    quick.frames.length = 0;
    slow.socket.resume();
    // It reads what was queued, then continues with a keyframe.
    const known = new Set<number>();
    await until(() => {
      camera.shoot(1000);
      for (const one of pictures(slow)) known.add(one.number);
      return [...known].some((number) => number > 100);
    });
    const seen = pictures(slow);
    const resumed = seen.find(
      ({ timestamp }, i) => i > 0 && timestampStep((seen[i - 1] as Seen).timestamp, timestamp) > 3600,
    );
    assert.equal(resumed?.isKey, true);
  });

  test("closes a player that accepts no data", async (t) => {
    const server = await open(t, { stalledMs: 500 });
    const camera = await film(server, "owner/stalled");
    const { player } = await watch(server, "owner/stalled");
    player.socket.pause();
    await until(() => {
      // More than is queued for it before it is closed.
      for (let i = 0; i < 20; i++) camera.shoot(100_000);
      return server.streams.list()[0]?.readers === 0;
    });
    assert.ok((server.streams.list()[0]?.missed ?? 0) > 0);
  });

  test("a publisher that is killed ends its stream and its players", async (t) => {
    const ended: string[] = [];
    const server = await open(t, {}, { unpublished: (_, reason) => ended.push(reason) });
    const clip = await makeClip({ seconds: 30, size: "160x120" });
    const { child } = publishers.ffmpeg(clip, server.url("owner/killed"), "tcp");
    await until(() => server.streams.list().length === 1);
    const player = players.ffmpeg(server.url("owner/killed"), "udp");
    await until(() => server.streams.list()[0]?.readers === 1);
    child.kill("SIGKILL");
    assert.equal(await player.output, "");
    assert.deepEqual(ended, ["the connection was closed"]);
  });

  test("closes a frozen publisher, also over UDP", async (t) => {
    const ended: string[] = [];
    const server = await open(t, { frozenMs: 3000 }, { unpublished: (_, reason) => ended.push(reason) });
    const clip = await makeClip({ seconds: 30, size: "160x120" });
    const { child } = publishers.ffmpeg(clip, server.url("owner/frozen"), "udp");
    await until(() => server.streams.list().length === 1);
    const player = players.ffmpeg(server.url("owner/frozen"), "tcp");
    await until(() => server.streams.list()[0]?.readers === 1);
    child.kill("SIGSTOP");
    assert.equal(await player.output, "");
    assert.deepEqual(ended, ["no video received for 3 s"]);
    await until(() => server.connections.count === 0);
    child.kill("SIGKILL");
  });

  test("closes silent, slow and incomplete clients in time", async (t) => {
    const server = await open(t, { helloMs: 1500 });
    const silent = await Talk.open(server.port);
    const asking = await Talk.open(server.port);
    assert.equal(await asking.say("OPTIONS", "*"), "200 OK");
    const slow = connect(server.port, "127.0.0.1");
    slow.on("error", () => {});
    const drip = setInterval(() => slow.write("A"), 20);
    t.after(() => clearInterval(drip));
    await Promise.all([silent.closed, asking.closed, new Promise((resolve) => slow.once("close", resolve))]);
    await until(() => server.connections.count === 0);
  });

  test("a right is not for ever: after a while the key is asked for again", async (t) => {
    const server = await open(t, { helloMs: 120_000 }, {}, { grantSeconds: 1 });
    await film(server, "owner/again");
    const client = await Talk.open(server.port);
    const url = server.url("owner/again", null);
    assert.equal(await client.say("DESCRIBE", url, BASIC), "200 OK");
    const answers = new Set<string>();
    await until(async () => answers.add((await client.say("DESCRIBE", url)).slice(0, 3)).has("401"));
    assert.deepEqual([...answers], ["200", "401"]);
    assert.equal(await client.say("DESCRIBE", url, BASIC), "200 OK");
  });

  test("closes a connection with unread responses", async (t) => {
    const server = await open(t, { helloMs: 60_000 });
    const client = await Talk.open(server.port);
    client.socket.pause();
    const request = "OPTIONS * RTSP/1.0\r\nCSeq: 1\r\n\r\n".repeat(1000);
    const ask = setInterval(() => client.socket.writableLength < 1e6 && client.socket.write(request), 1);
    t.after(() => clearInterval(ask));
    await until(() => server.connections.count === 0);
  });

  test("disconnects a publisher for an oversized picture", async (t) => {
    const ended: string[] = [];
    const server = await open(t, { unitBytes: 50_000 }, { unpublished: (_, reason) => ended.push(reason) });
    const camera = await film(server, "owner/large");
    camera.shoot(60_000);
    await camera.publisher.closed;
    assert.deepEqual(ended, ["the picture has more than 50000 bytes"]);
  });

  test("a publisher between a lost packet and its next keyframe is not frozen", async (t) => {
    const ended: string[] = [];
    const server = await open(t, { frozenMs: 3000 }, { unpublished: (_, reason) => ended.push(reason) });
    const { port } = await announceUdp(server, "owner/lossy", 40_001);
    const socket = await sendKey("127.0.0.1", port, 1);
    t.after(() => socket.close());
    await until(() => server.streams.list()[0]?.pictures === 1);
    // For longer than a frozen one would be let be. The second is missing; of those that follow none can be shown.
    let sequence = 3;
    for (const untilMs = performance.now() + 4000; performance.now() < untilMs; sequence++) {
      socket.send(rtpPacket(sequence, Buffer.from([0x41, 0xe0, 1, 2, 3])), port, "127.0.0.1");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    assert.deepEqual(ended, []);
    assert.equal(server.streams.list()[0]?.pictures, 1);
    shootKey(socket, port, sequence);
    await until(() => server.streams.list()[0]?.pictures === 2);
  });

  test("packets are taken from the publisher's own address alone", async (t) => {
    const server = await open(t);
    const { client, url, port } = await announceUdp(server, "owner/udp", 40_001);
    const stranger = await sendKey("127.0.0.2", port, 1);
    assert.equal(await client.say("GET_PARAMETER", url), "200 OK");
    assert.equal(server.streams.list().length, 0);
    const own = await sendKey("127.0.0.1", port, 1);
    await until(() => server.streams.list().length === 1);
    assert.equal(server.streams.list()[0]?.pictures, 1);
    stranger.close();
    own.close();
  });

  test("after its first packet, only the port of a publisher can send to its stream", async (t) => {
    const server = await open(t);
    const own = await bindUdp("127.0.0.1");
    const rtpPort = own.address().port;
    const { client, url, port } = await announceUdp(server, "owner/latched", rtpPort + 1);
    // Sends before the publisher, as an attacker who guesses the port can.
    const stranger = await sendKey("127.0.0.1", port, 1);
    t.after(() => {
      own.close();
      stranger.close();
    });
    await until(() => server.streams.list()[0]?.pictures === 1);
    shootKey(own, port, 2);
    await until(() => server.streams.list()[0]?.pictures === 2);
    for (let i = 0; i < 20; i++) shootKey(stranger, port, 100 + i);
    shootKey(own, port, 3);
    await until(() => server.streams.list()[0]?.pictures === 3);
    assert.equal(await client.say("GET_PARAMETER", url), "200 OK");
    assert.equal(server.streams.list()[0]?.pictures, 3);
  });

  test("a bug while a connection is handled closes only that connection", async (t) => {
    const server = await openServer({}, {}, { reportMs: 50 });
    t.after(() => server.close());
    const { client: faulty, port } = await announceUdp(server, "owner/faulty", 40_001);
    const other = await Talk.open(server.port);
    const { send } = Socket.prototype;
    t.mock.method(Socket.prototype, "send", function (this: Socket, ...given: unknown[]) {
      if (given[1] === 40_001) throw new Error("an unexpected bug");
      return Reflect.apply(send, this, given) as unknown;
    });
    const own = await sendKey("127.0.0.1", port, 1);
    t.after(() => own.close());
    await faulty.closed;
    assert.match(JSON.stringify(server.faults), /an unexpected bug/);
    assert.equal(await other.say("OPTIONS", "*"), "200 OK");
  });

  test("a UDP player gets its packets at its own address, and is closed when it sends no keep-alive", async (t) => {
    const server = await open(t, {}, {}, { sessionSeconds: 2 });
    const camera = await film(server, "owner/udp");
    const [rtp, rtcp] = [createSocket("udp4"), createSocket("udp4")];
    for (const socket of [rtp, rtcp]) {
      socket.bind(0, "127.0.0.1");
      await once(socket, "listening");
    }
    const received: Buffer[] = [];
    rtp.on("message", (packet) => received.push(packet));
    const ports = [rtp, rtcp].map((socket) => socket.address().port);
    const wanted = `RTP/AVP;unicast;destination=127.0.0.9;client_port=${ports.join("-")}`;
    const { player, transport } = await watch(server, "owner/udp", { Transport: wanted });
    const reportPort = Number(/server_port=\d+-(\d+)/.exec(transport)?.[1]);
    const shooting = setInterval(() => camera.shoot(), 40);
    t.after(() => {
      clearInterval(shooting);
      clearInterval(keepAlive);
      rtp.close();
      rtcp.close();
    });
    const keepAlive = setInterval(
      () => rtcp.send(Buffer.from([0x80, 201, 0, 1, 0, 0, 0, 1]), reportPort, "127.0.0.1"),
      100,
    );
    // Longer than a session lasts without a sign of life.
    await until(() => received.length > 75);
    assert.equal(server.streams.list()[0]?.readers, 1);
    clearInterval(keepAlive);
    await player.closed;
  });

  test("a player can play another stream on the same connection after the first has ended", async (t) => {
    const server = await open(t);
    const first = await film(server, "owner/first");
    const second = await film(server, "owner/second");
    const { player } = await watch(server, "owner/first");
    await first.publisher.close();
    await until(() => server.streams.tracks("owner/first") === null);
    assert.equal(await player.say("TEARDOWN", server.url("owner/first", null)), "200 OK");
    player.session = null;
    player.frames.length = 0;
    const url = server.url("owner/second", null);
    assert.equal(await player.say("SETUP", `${url}/trackID=0`, { ...BASIC, ...PLAY_TCP }), "200 OK");
    assert.equal(await player.say("PLAY", url), "200 OK");
    const shooting = setInterval(() => second.shoot(), 40);
    t.after(() => clearInterval(shooting));
    // Longer than it would have had to say good-bye.
    await until(() => countPictures(player) > 75);
  });

  test("the publisher's capture time reaches the stream and its players", async (t) => {
    const server = await open(t);
    const camera = await FakeCamera.open(server.url("owner/time"));
    const began = Date.now() - 5000;
    let taken = 0;
    const shoot = () => camera.shoot(500, began + 40 * taken++);
    shoot();
    await until(() => server.streams.tracks("owner/time") !== null);
    const units: AccessUnit[] = [];
    server.streams.read("owner/time", { setTracks() {}, push: (unit) => void units.push(unit), end() {} });
    shoot();
    shoot();
    await until(() => units.length === 3);
    for (const [i, unit] of units.entries()) assert.ok(Math.abs(unit.captureMs - began - 40 * i) < 1);
    const { player } = await watch(server, "owner/time");
    await until(() => player.frames.some(({ channel }) => channel === 1));
    shoot();
    await until(() => countPictures(player) === 4);
    const report = player.frames.flatMap(({ channel, packet }) => (channel === 1 ? [readSenderReport(packet)] : []))[0];
    assert.ok(report);
    const last = pictures(player).at(-1) ?? assert.fail("no picture");
    const captureMs = report.unixMs + timestampStep(report.timestamp, last.timestamp) / 90;
    assert.ok(Math.abs(captureMs - began - 120) < 1, `${captureMs - began} ms`);
  });

  test("a new player gets the pictures since the last keyframe at once, without a lasting delay", async (t) => {
    const server = await open(t);
    const camera = await film(server, "owner/join", 1000);
    for (let i = 0; i < 20; i++) camera.shoot();
    await until(() => server.streams.list()[0]?.pictures === 21);
    const { player } = await watch(server, "owner/join");
    await until(() => countPictures(player) === 21);
    camera.shoot();
    await until(() => countPictures(player) === 22);
    const seen = pictures(player);
    const steps = seen.slice(1).map(({ timestamp }, i) => timestampStep((seen[i] as Seen).timestamp, timestamp));
    assert.deepEqual(steps, [...Array<number>(20).fill(90), 3600]);
    assert.equal(seen[0]?.isKey, true);
  });
});

/** SPS, PPS and a key slice in one STAP-A. */
const KEY_PICTURE = (() => {
  const nals = ["Z0LADdkBQfsBEAAAAwAQAAADAyDxQqSA", "aMuDyyA=", "ZYgA"].map((text) => Buffer.from(text, "base64"));
  const lengths = nals.map(({ length }) => Buffer.from([length >> 8, length & 0xff]));
  return Buffer.concat([Buffer.from([0x78]), ...nals.flatMap((nal, i) => [lengths[i] as Buffer, nal])]);
})();

interface Seen {
  readonly number: number;
  readonly timestamp: number;
  readonly isKey: boolean;
}

/** By the timestamps of the packets, in the order they came. */
function pictures({ frames }: Talk): Seen[] {
  const seen: Seen[] = [];
  for (const { channel, packet } of frames) {
    const read = channel === 0 ? readRtp(packet) : null;
    if (read === null || read.timestamp === seen.at(-1)?.timestamp) continue;
    // Keyframes start with their parameter sets.
    seen.push({ number: seen.length, timestamp: read.timestamp, isKey: ((read.payload[0] ?? 0) & 0x1f) === 24 });
  }
  return seen;
}

const countPictures = (player: Talk): number => pictures(player).length;
