/** Our client against our hub, against nginx, and against servers that are none. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { createServer as createTlsServer } from "node:tls";
import { makeFlv, readPackets, toPackets } from "../../hub/rtmp/clips.fixture.ts";
import { RawClient, readTags } from "../../hub/rtmp/raw-client.fixture.ts";
import { runProgram, type Taken, TestIngest, testFolder } from "../../hub/rtmp/rtmp.fixture.ts";
import { nginxIsMissing, openNginx } from "../../test/nginx-rtmp.fixture.ts";
import type { AccessUnit, Tracks } from "../access-unit.ts";
import { makeClip } from "../mp4/clip.fixture.ts";
import type { Publisher } from "../publisher.ts";
import { ChunkReader, writeChunks } from "./chunks.ts";
import { Handshake } from "./handshake.ts";
import { type Command, MESSAGE, makeCommand, type OutgoingMessage, readCommand } from "./message.ts";
import { publishRtmp } from "./publisher.ts";

const ingest = await TestIngest.open();

/** Tracks and units of a clip, as the hub hands them out. */
async function loadUnits(
  name: string,
  options: Parameters<typeof makeFlv>[0],
): Promise<{ tracks: Tracks; units: AccessUnit[] }> {
  const client = await RawClient.publishing(ingest, `user/load/${name}`);
  for (const tag of readTags(await makeFlv(options))) client.send(tag);
  client.command("deleteStream", null, 1);
  const { tracks, units } = await ingest.finished(`user/load/${name}`);
  return { tracks: tracks[0] ?? assert.fail(), units };
}

const rich = await loadUnits("rich", { frames: 50, bFrames: 2, hasSound: true });
const plain = await loadUnits("plain", { frames: 50 });
const large = await loadUnits("large", { frames: 25, size: "320x240" });

function sendAll(publisher: Publisher, units: readonly AccessUnit[]): void {
  for (const unit of units) assert.ok(publisher.send(unit));
}

const assertSame = (taken: Taken, units: readonly AccessUnit[]) =>
  assert.deepEqual(toPackets(taken.units), toPackets(units));

test("delivers every picture and audio frame to the hub, with timestamps", async () => {
  const publisher = await publishRtmp(ingest.url("user/own/rich"), rich.tracks);
  sendAll(publisher, rich.units);
  await publisher.close();
  const taken = await ingest.finished("user/own/rich");
  assertSame(taken, rich.units);
  assert.deepEqual(taken.tracks, [rich.tracks]);
  assert.equal(taken.reason, "the publisher ended the stream");
  assert.equal(await publisher.closed, "closed");
  assert.equal(publisher.send(rich.units[0] ?? assert.fail()), false);
});

test("sends H.265 as enhanced RTMP: every picture, and parameter sets again when they change", async () => {
  const [clip, larger] = [{ bFrames: 2 }, { size: "640x360" }].map((more) =>
    makeClip({ codec: "h265", seconds: 1, gop: 12, ...more }),
  );
  assert.ok(clip && larger);
  const publisher = await publishRtmp(ingest.url("user/own/h265"), clip.tracks);
  sendAll(publisher, clip.units);
  const later = larger.units.map((unit) => ({ ...unit, dtsUs: unit.dtsUs + 2_000_000, ptsUs: unit.ptsUs + 2_000_000 }));
  sendAll(publisher, later);
  await publisher.close();
  const taken = await ingest.finished("user/own/h265");
  assert.deepEqual(
    taken.tracks.map(({ video }) => [video.codec, video.width, video.reorders]),
    [
      ["h265", 320, true],
      ["h265", 640, false],
    ],
  );
  const sent = [...clip.units, ...later];
  assert.deepEqual(
    taken.units.map(({ parts, isKey }) => [isKey, Buffer.concat(parts).toString("base64")]),
    sent.map(({ parts, isKey }) => [isKey, Buffer.concat(parts).toString("base64")]),
  );
});

test("starts with a keyframe at time 0", async () => {
  const publisher = await publishRtmp(ingest.url("user/own/late"), plain.tracks);
  const late = plain.units.slice(5);
  const sent = late.filter((unit) => publisher.send(unit));
  await publisher.close();
  const { units } = await ingest.finished("user/own/late");
  assert.deepEqual([sent.length, units.length, units[0]?.isKey, units[0]?.dtsUs], [38, 38, true, 0]);
});

test("sends a new configuration when the picture size changes", async () => {
  const publisher = await publishRtmp(ingest.url("user/own/resized"), plain.tracks);
  const later = large.units.map((unit) => ({ ...unit, dtsUs: unit.dtsUs + 2e6, ptsUs: unit.ptsUs + 2e6 }));
  sendAll(publisher, [...plain.units, ...later]);
  await publisher.close();
  const { tracks, units } = await ingest.finished("user/own/resized");
  assert.deepEqual(
    tracks.map(({ video }) => video.width),
    [160, 320],
  );
  assert.equal(units.length, 75);
});

test("nginx records every picture as it was sent, and ffmpeg plays it from there", {
  skip: nginxIsMissing,
}, async () => {
  const nginx = await openNginx();
  const url = `rtmp://127.0.0.1:${nginx.port}/live/street`;
  const whole = await publishRtmp(url, rich.tracks);
  sendAll(whole, rich.units);
  await whole.close();
  const [file = assert.fail("nginx recorded nothing")] = await waitForFile(nginx.recordings);
  const recorded = await readPackets(join(nginx.recordings, file));
  const pictures = <T extends { kind: string }>(packets: readonly T[]) =>
    packets.filter(({ kind }) => kind === "video");
  assert.deepEqual(pictures(recorded), pictures(toPackets(rich.units)));

  const live = await publishRtmp(url, plain.tracks);
  let isPlaying = true;
  const player = runProgram("ffmpeg", [
    ...["-v", "error", "-stats", "-nostdin", "-probesize", "32768", "-analyzeduration", "100000"],
    ...["-i", url, "-frames:v", "25", "-f", "null", "-"],
  ]).finally(() => {
    isPlaying = false;
  });
  for (let i = 0; isPlaying; i += 1) {
    const unit = plain.units[i % plain.units.length] ?? assert.fail();
    live.send({ ...unit, dtsUs: i * 40_000, ptsUs: i * 40_000 });
    await sleep(20);
  }
  const { code, output } = await player;
  assert.equal(code, 0, output);
  assert.match(output, /frame= +25 /);
  await nginx.kill();
  assert.match(await live.closed, /closed the connection|ECONNRESET|EPIPE/);
  assert.equal(live.send(plain.units[0] ?? assert.fail()), false);
  await assert.rejects(publishRtmp(url, plain.tracks), /ECONNREFUSED/);
});

async function waitForFile(folder: string): Promise<string[]> {
  for (;;) {
    const files = readdirSync(folder);
    if (files.length > 0) return files;
    await sleep(20);
  }
}

test("quotes the rejection of the server", async () => {
  await assert.rejects(publishRtmp(ingest.url("user/own/x", "wrong"), plain.tracks), {
    message: "the server rejected the stream: a valid key is needed",
  });
  await assert.rejects(publishRtmp(ingest.url("user"), plain.tracks), /expected the address rtmp/);
  const publisher = await publishRtmp(ingest.url("user/own/expelled"), plain.tracks);
  ingest.streams.expel("user/own/expelled", "its source was deleted");
  assert.equal(await publisher.closed, "the server rejected the stream: its source was deleted");
});

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const sockets = new Set<Socket>();
  server.on("connection", (socket: Socket) => sockets.add(socket.on("error", () => {})));
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : assert.fail();
}

test("an abort signal ends publishing immediately", async () => {
  const silent = await listen(createServer());
  const controller = new AbortController();
  const publishing = publishRtmp(`rtmp://127.0.0.1:${silent}/a/b`, plain.tracks, { signal: controller.signal });
  controller.abort();
  await assert.rejects(publishing, /aborted/);
});

test("rejects for servers that are silent, speak another protocol or close", async () => {
  const options = { stepMs: 300 };
  const silent = await listen(createServer());
  await assert.rejects(
    publishRtmp(`rtmp://127.0.0.1:${silent}/a/b`, plain.tracks, options),
    /did not complete the handshake within 0.3 s/,
  );
  const web = await listen(createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")));
  await assert.rejects(publishRtmp(`rtmp://127.0.0.1:${web}/a/b`, plain.tracks, options), /does not speak RTMP/);
  const rude = await listen(createServer((socket) => socket.destroy()));
  await assert.rejects(
    publishRtmp(`rtmp://127.0.0.1:${rude}/a/b`, plain.tracks, options),
    /closed the connection|ECONNRESET/,
  );
  const dull = await listen(createServer((socket) => socket.pipe(socket)));
  await assert.rejects(publishRtmp(`rtmp://127.0.0.1:${dull}/a/b`, plain.tracks, options), /did not answer connect/);
});

/** A server that shakes hands and answers commands as the test wants. */
async function openScripted(answer: (command: Command) => OutgoingMessage[]): Promise<number> {
  const server = createServer((socket) => {
    let handshake: Handshake | null = new Handshake("server", (bytes) => socket.write(bytes));
    const reader = new ChunkReader({ chunkStreams: 64, commandBytes: 65_536, mediaBytes: 0 });
    socket.on("data", (bytes) => {
      const rest = handshake === null ? bytes : handshake.push(bytes);
      if (rest === null) return;
      handshake = null;
      reader.push(rest);
      for (let message = reader.next(); message !== null; message = reader.next()) {
        if (message.type !== MESSAGE.command) continue;
        for (const one of answer(readCommand(message))) for (const piece of writeChunks(one)) socket.write(piece);
      }
    });
  });
  return listen(server);
}

test("ignores errors of commands without a caller, and rejects on errors of awaited ones", async () => {
  const fail = ({ transaction }: Command) => makeCommand(0, "_error", transaction, null, { description: "not here" });
  const succeed = ({ transaction }: Command) => makeCommand(0, "_result", transaction, null, 7);
  for (const refused of ["connect", "createStream", "publish"]) {
    const port = await openScripted((command) =>
      [refused, "releaseStream", "FCPublish"].includes(command.name) ? [fail(command)] : [succeed(command)],
    );
    const publishing = publishRtmp(`rtmp://127.0.0.1:${port}/a/b`, plain.tracks);
    await assert.rejects(publishing, { message: "the server rejected the stream: not here" }, refused);
  }
});

/** A relay between a client and the hub that records what the client sends, and can hold it back. */
async function openRelay(): Promise<{ port: number; said: Buffer[]; hold(): void; release(): void }> {
  const said: Buffer[] = [];
  const clients: Socket[] = [];
  const server = createServer((client) => {
    const hub = connect(ingest.port, "127.0.0.1");
    clients.push(client);
    client.on("data", (bytes) => said.push(bytes));
    for (const [from, to] of [
      [client, hub],
      [hub, client],
    ] as const)
      from.pipe(to).on("error", () => {});
  });
  const port = await listen(server);
  return {
    port,
    said,
    hold: () => clients.forEach((client) => void client.pause()),
    release: () => clients.forEach((client) => void client.resume()),
  };
}

test("connects to a fixed address, and sends the name of the URL", async () => {
  const relay = await openRelay();
  const url = ingest.url("user/own/pinned").replace(/127\.0\.0\.1:\d+/, `cam.invalid:${relay.port}`);
  const publisher = await publishRtmp(url, plain.tracks, { host: "127.0.0.1" });
  await publisher.close();
  assert.ok(Buffer.concat(relay.said).includes(`rtmp://cam.invalid:${relay.port}/user/own`));
  await assert.rejects(publishRtmp(url, plain.tracks, { stepMs: 5000 }), /ENOTFOUND|EAI_AGAIN/);
});

/** Sends until the publisher rejects a unit. */
function flood(publisher: Publisher, most: number): number {
  for (let i = 0; i < most; i += 1) {
    const unit = plain.units[i % plain.units.length] ?? assert.fail();
    const padded = unit.isKey ? unit : { ...unit, parts: [...unit.parts, Buffer.alloc(500_000, 6)] };
    if (!publisher.send({ ...padded, dtsUs: i * 1000, ptsUs: i * 1000 })) return i;
  }
  return most;
}

test("drops pictures up to the next keyframe when the server is too slow, and limits memory", async () => {
  const relay = await openRelay();
  const url = ingest.url("user/own/slow").replace(String(ingest.port), String(relay.port));
  const publisher = await publishRtmp(url, plain.tracks, { queueBytes: 1_000_000 });
  relay.hold();
  const before = process.memoryUsage().arrayBuffers;
  assert.ok(flood(publisher, 1000) < 100);
  for (let i = 0; i < 1000; i += 1) flood(publisher, 1);
  assert.ok(process.memoryUsage().arrayBuffers - before < 50e6);
  const [key, next] = plain.units;
  assert.ok(key && next);
  assert.equal(publisher.send(next), false);
  relay.release();
  while (!publisher.send(key)) await sleep(10);
  assert.ok(publisher.send(next));
  await publisher.close();
});

test("closes when the server accepts no data", async () => {
  const relay = await openRelay();
  const url = ingest.url("user/own/stalled").replace(String(ingest.port), String(relay.port));
  const publisher = await publishRtmp(url, plain.tracks, { queueBytes: 1_000_000, stalledMs: 200 });
  relay.hold();
  let reason: string | null = null;
  void publisher.closed.then((text) => {
    reason = text;
  });
  while (reason === null) {
    flood(publisher, 1000);
    await sleep(10);
  }
  assert.equal(reason, "the server accepted no data for 0.2 s");
  await publisher.close();
});

test("rtmps uses TLS and verifies certificates", async () => {
  const folder = testFolder();
  const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
  const line = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost -keyout ${key} -out ${cert}`;
  execFileSync("openssl", line.split(" "), { stdio: "ignore" });
  const ca = readFileSync(cert, "utf8");
  const server = createTlsServer({ key: readFileSync(key), cert: ca }, (client) => {
    const hub = connect(ingest.port, "127.0.0.1");
    for (const [from, to] of [
      [client, hub],
      [hub, client],
    ] as const)
      from.pipe(to).on("error", () => {});
  }).on("tlsClientError", () => {});
  const url = ingest.url("user/own/secure").replace(/^.*:\d+/, `rtmps://localhost:${await listen(server)}`);
  await assert.rejects(publishRtmp(url, plain.tracks, { host: "127.0.0.1" }), /self.signed/);
  const publisher = await publishRtmp(url, plain.tracks, { host: "127.0.0.1", ca });
  sendAll(publisher, plain.units);
  await publisher.close();
  assertSame(await ingest.finished("user/own/secure"), plain.units);
});
