/** Whatever strangers and publishers send, other connections continue and nothing is left behind. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { test } from "node:test";
import { TsMuxer } from "../../media/mpegts/muxer.ts";
import { sectionCrc } from "../../media/mpegts/packet.ts";
import { type SrtConnection, SrtSockets } from "../../media/srt/socket.ts";
import { TRACKS } from "../../media/tracks.fixture.ts";
import { makeFlv } from "../rtmp/clips.fixture.ts";
import { openSrtIngest, publishFile, srtUrl, streamId } from "./srt.fixture.ts";

const ingest = await openSrtIngest();
const sockets = new SrtSockets();

async function connect(id: string): Promise<SrtConnection> {
  const { port } = ingest;
  const connection = sockets.connect({
    ...{ host: "127.0.0.1", port, latencyMs: 120, passphrase: null, streamId: id, timeoutMs: 20_000 },
  });
  await ingest.until(() => connection.state.state !== "connecting");
  assert.equal(connection.state.state, "connected");
  return connection;
}

const isClosed = (connection: SrtConnection) => connection.receive() === null;

/** A handshake of SRT with random fields: induction and conclusion, with extensions of any length. */
function spoiltHandshake(): Buffer {
  const packet = Buffer.concat([Buffer.alloc(64), randomBytes(Math.floor(Math.random() * 700))]);
  packet.writeUInt32BE(0x8000_0000, 0);
  packet.writeUInt32BE(Math.random() < 0.5 ? 4 : 5, 16);
  packet.writeUInt32BE([1, 0xffff_ffff, 0xffff_fffe, 0][Math.floor(Math.random() * 4)] as number, 36);
  for (let i = 0; i < 6; i++) packet[16 + Math.floor(Math.random() * 48)] = Math.floor(Math.random() * 256);
  return packet;
}

test("datagrams of any content do not disturb a publisher, and leave no connection", async () => {
  const film = await makeFlv({ frames: 75 });
  const publishing = publishFile(film, srtUrl(ingest.port, streamId("user/film", "publish")));
  await ingest.until(() => ingest.streams.tracks("user/film"));
  const stranger = createSocket("udp4");
  for (let i = 0; i < 3000; i++) {
    const packet = i % 3 === 0 ? randomBytes(1 + Math.floor(Math.random() * 1400)) : spoiltHandshake();
    stranger.send(packet, ingest.port, "127.0.0.1");
    if (i % 50 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  const { code, output } = await publishing;
  assert.equal(code, 0, output);
  stranger.close();
  await once(stranger, "close");
  const { units } = await ingest.finished("user/film");
  assert.equal(units.filter(({ kind }) => kind === "video").length, 75);
  await ingest.until(() => ingest.connections.count === 0);
});

/** `stream_type` of a PMT. */
const MPEG2_VIDEO = 0x02;

for (const [name, bytes, reason] of [
  ["something else than MPEG-TS", Buffer.alloc(120_000, 0x31), "expected MPEG-TS"],
  ["another codec", withCodec(MPEG2_VIDEO), "expected H.264 or H.265, received MPEG-2 video"],
] as const)
  test(`closes a publisher of ${name}, with the reason in the log`, async () => {
    const connection = await connect(streamId("user/odd", "publish"));
    for (let at = 0; at < bytes.length; at += 1316) {
      if (connection.send(Buffer.from(bytes.subarray(at, at + 1316))) < 0) break;
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await ingest.until(() => isClosed(connection));
    assert.ok(
      ingest.said.some((line) => line.includes(reason)),
      ingest.said.at(-1),
    );
    connection.close();
    await ingest.until(() => ingest.connections.count === 0);
  });

test("a caller that vanishes while it is authorized, or never sends, is released", async () => {
  const { authorize } = ingest;
  let answer = (): void => {};
  ingest.authorize = async (request) => {
    await new Promise<void>((resolve) => {
      answer = resolve;
    });
    return authorize(request);
  };
  // Accepted before it is authorized: the handshake does not wait this long.
  const connection = await connect(streamId("user/late", "publish"));
  connection.close();
  ingest.authorize = authorize;
  answer();
  await ingest.until(() => ingest.connections.count === 0);
  assert.equal(ingest.streams.tracks("user/late"), null);
});

test("a caller that is rejected after its handshake is closed, and gets the code at its next attempt", async () => {
  const { authorize } = ingest;
  ingest.authorize = async (request) => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    return authorize(request);
  };
  const id = streamId("user/slow", "publish", "wh_1_wrong");
  const connection = await connect(id);
  await ingest.until(() => isClosed(connection));
  connection.close();
  ingest.authorize = authorize;
  const { port } = ingest;
  const again = sockets.connect({
    ...{ host: "127.0.0.1", port, latencyMs: 120, passphrase: null, streamId: id, timeoutMs: 20_000 },
  });
  await ingest.until(() => again.state.state === "closed");
  assert.equal(again.state.code, 1401);
  again.close();
});

test("closes its connections", async () => {
  const connection = await connect(streamId("user/end", "publish"));
  await ingest.close();
  await ingest.until(() => isClosed(connection));
  connection.close();
  sockets.close();
});

/** A program whose video has this stream type. */
function withCodec(type: number): Buffer {
  const unit = { kind: "video", dtsUs: 0, ptsUs: 0, captureMs: 0, isKey: true, parts: [Uint8Array.of(0x65)] } as const;
  const muxer = new TsMuxer(TRACKS);
  const bytes = muxer.write(unit);
  const pmt = bytes.subarray(188, 376);
  pmt[17] = type;
  // The CRC is that of the changed table.
  const end = 5 + 3 + (pmt.readUInt16BE(6) % 4096) - 4;
  pmt.writeUInt32BE(sectionCrc(pmt.subarray(5, end)), end);
  return Buffer.concat(Array.from({ length: 20 }, () => bytes));
}
