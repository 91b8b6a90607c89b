/** Hostile clients, and clients of other protocols. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { test } from "node:test";
import { setInterval as every } from "node:timers/promises";
import { writeChunks } from "../../media/rtmp/chunks.ts";
import { EVENT, MESSAGE, makeCommand, makeEvent } from "../../media/rtmp/message.ts";
import { makeFlv } from "./clips.fixture.ts";
import { RawClient, readTags } from "./raw-client.fixture.ts";
import { KEY, openSocket, TestIngest } from "./rtmp.fixture.ts";

const ingest = await TestIngest.open();
const hasty = await TestIngest.open({ helloMs: 300 });

test("another protocol and garbage are closed at once", async () => {
  for (const bytes of [Buffer.from("GET / HTTP/1.1\r\n\r\n"), Buffer.of(6), randomBytes(10_000).fill(0xff, 0, 1)]) {
    const { socket, closed, received } = await openSocket(ingest.port);
    socket.write(bytes);
    await closed;
    assert.equal(received().length, 0);
  }
});

test("garbage after the handshake is closed", async () => {
  const client = await RawClient.open(ingest);
  client.socket.write(Buffer.alloc(10_000, 0xff));
  await client.closed;
});

test("closes connections that do not publish: silent, half a handshake, a byte at a time, connected only", async () => {
  const silent = await openSocket(hasty.port);
  const half = await openSocket(hasty.port);
  half.socket.write(Buffer.concat([Buffer.of(3), Buffer.alloc(100)]));
  const connected = await RawClient.open(hasty);
  connected.command("connect", { app: "user" });
  const slow = await openSocket(hasty.port);
  slow.socket.write(Buffer.of(3));
  void (async () => {
    for await (const _ of every(20)) if (slow.socket.destroyed || !slow.socket.write(Buffer.of(0))) return;
  })();
  await Promise.all([silent.closed, half.closed, slow.closed, connected.closed]);
  await hasty.until(() => hasty.connections.count === 0);
});

test("closes a client that sends much before publishing", async () => {
  const client = await RawClient.open(ingest);
  client.command("connect", { app: "user" });
  client.socket.write(
    Buffer.concat(writeChunks({ ...makeCommand(0), type: MESSAGE.data, body: Buffer.alloc(2 ** 20) })),
  );
  await client.closed;
});

test("more commands than anybody needs are closed", async () => {
  const client = await RawClient.open(ingest);
  client.command("connect", { app: "user" });
  for (let i = 0; i < 200; i += 1) client.command("createStream", null);
  await client.closed;
  assert.ok(client.answers().length <= 100);
});

test("commands out of order are closed, unknown ones are passed over", async () => {
  for (const commands of [["createStream"], ["publish"], ["deleteStream"], ["connect", "connect"]]) {
    const client = await RawClient.open(ingest);
    for (const name of commands) client.command(name, { app: "user" }, "x");
    await client.closed;
  }
  const client = await RawClient.open(ingest);
  for (const name of ["connect", "hasOwnProperty", "__proto__", "_checkbw", "createStream"]) {
    client.command(name, { app: "user" });
  }
  await ingest.until(() => client.answers().length === 2);
  client.socket.destroy();
});

test("rejects play with a reason", async () => {
  const client = await RawClient.open(ingest);
  client.command("connect", { app: "user" });
  client.command("createStream", null);
  client.command("play", null, `x?api_key=${KEY}`);
  await client.closed;
  const [[code, description] = []] = client.statuses();
  assert.equal(code, "NetStream.Play.Failed");
  assert.match(String(description), /play by RTSP, HLS or WebRTC/);
});

test("paths that no stream can have are refused before anybody is asked", async () => {
  const asked = ingest.questions.length;
  for (const path of [
    "user",
    "user/../other",
    "user/a//x",
    "user/%2e%2e/x",
    "user/a b",
    `user/${"x".repeat(300)}`,
    "/",
    "user/.x",
  ]) {
    const client = await RawClient.publishing(ingest, path);
    await client.closed;
    assert.equal(client.statuses()[0]?.[0], "NetStream.Publish.BadName", path);
  }
  assert.equal(ingest.questions.length, asked);
});

test("publishing twice on one connection is closed", async () => {
  const client = await RawClient.publishing(ingest, "user/twice");
  client.command("publish", null, `twice2?api_key=${KEY}`);
  await client.closed;
  assert.equal(
    ingest.questions.some(({ path }) => path === "user/twice2"),
    false,
  );
});

test("closes a client that does not read responses", async () => {
  const client = await RawClient.publishing(ingest, "user/deaf");
  await ingest.until(() => client.statuses().length > 0);
  client.socket.pause();
  const pings = Buffer.concat(Array<Buffer>(20_000).fill(Buffer.concat(writeChunks(makeEvent(EVENT.pingRequest, 1)))));
  while (!client.socket.destroyed) await new Promise((resolve) => client.socket.write(pings, resolve));
  assert.ok(ingest.said.some((line) => line.includes("the client does not read responses")));
});

test("answers pings, and acknowledges input at the requested interval", async () => {
  const [config, ...pictures] = readTags(await makeFlv({ frames: 5 }));
  assert.ok(config !== undefined);
  const client = await RawClient.publishing(ingest, "user/polite");
  client.write(makeEvent(EVENT.pingRequest, 77));
  const window = Buffer.alloc(4);
  window.writeUInt32BE(1000);
  client.write({ ...makeEvent(0, 0), type: MESSAGE.windowSize, body: window });
  for (const tag of [config, ...pictures]) client.send(tag);
  for (let i = 0; i < 40; i += 1) client.write({ ...makeEvent(0, 0), type: MESSAGE.data, body: Buffer.alloc(10_000) });
  const has = (type: number) => client.messages().some((message) => message.type === type);
  await ingest.until(() => has(MESSAGE.acknowledgement));
  const pong = client
    .messages()
    .find(({ type, body }) => type === MESSAGE.userControl && body[1] === EVENT.pingResponse);
  assert.equal(pong?.body.readUInt32BE(2), 77);
  client.socket.destroy();
});

test("connections beyond the limit are closed at once, and room is made when others go", async () => {
  const full = await TestIngest.open({ connections: 50, connectionsPerAddress: 40 });
  const kept = await Promise.all(Array.from({ length: 40 }, () => openSocket(full.port)));
  const more = await Promise.all(Array.from({ length: 100 }, () => openSocket(full.port)));
  await Promise.all(more.map(({ closed }) => closed));
  assert.equal(full.connections.count, 40);
  for (const { socket } of kept) socket.destroy();
  await full.until(() => full.connections.count === 0);
  const client = await RawClient.publishing(full, "user/after");
  await full.until(() => client.statuses().length > 0);
  assert.equal(client.statuses()[0]?.[0], "NetStream.Publish.Start");
  client.socket.destroy();
});

test("keys are never logged", () => {
  assert.equal(
    [...ingest.said, ...hasty.said].some((line) => line.includes(KEY)),
    false,
  );
});
