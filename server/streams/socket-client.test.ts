import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import type { DetectionMessage } from "../../schemas/detection-message.ts";
import { Pace } from "./socket-client.ts";
import { eventually, Listener, openStage, type Stage } from "./streams.fixture.ts";

test("accepts messages up to the limit per second, drops more, and pauses reading for far more", () => {
  let nowMs = 0;
  const pace = new Pace(3, () => nowMs);
  const count = (times: number) => Array.from({ length: times }, () => pace.count());
  assert.deepEqual(count(4), ["take", "take", "take", "refuse"]);
  assert.deepEqual(count(26).at(-1), "refuse");
  assert.equal(pace.count(), "pause");
  nowMs = 400;
  assert.equal(pace.secondEndsInMs, 600);
  nowMs = 1000;
  assert.equal(pace.count(), "take");
});

// Clients that take less than they are sent, over connections that are really full.

describe("a websocket client that does not keep up", () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage({ queuedMessages: 10, closeMs: 500 });
  });
  after(() => stage.close());

  test("loses the oldest messages, gets their number in the next one, and gets the newest", async () => {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "detection_data");
    listener.socket.pause();
    const source_uri = "x".repeat(100_000);
    const count = 400;
    for (let i = 0; i < count; i++) {
      process.detect({ source_uri, active_tracks: [{ track_id: i }] });
      // Lets the connection take what it can.
      await new Promise(setImmediate);
    }
    listener.socket.resume();
    const idOf = (message: unknown) => (message as DetectionMessage | undefined)?.active_tracks[0]?.track_id;
    await eventually(() => idOf(listener.messages.at(-1)) === count - 1, "the newest has come");
    const dropped = listener.messages.reduce((sum, message) => sum + Number(message.dropped ?? 0), 0);
    assert.ok(dropped > 0, "nothing was dropped: the connection was never full");
    assert.equal(listener.messages.length + dropped, count);
    let next = 0;
    for (const message of listener.messages) {
      next += Number(message.dropped ?? 0);
      assert.equal(idOf(message), next);
      next += 1;
    }
    process.detect();
    const before = listener.messages.length;
    await listener.expect(before + 1);
    assert.equal(listener.messages.at(-1)?.dropped, undefined);
    await listener.close();
  });

  test("does not delay the end of the process", async () => {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "detection_data");
    listener.socket.pause();
    const source_uri = "x".repeat(1_000_000);
    for (let i = 0; i < 30; i++) {
      process.detect({ source_uri });
      await new Promise(setImmediate);
    }
    process.end();
    listener.socket.resume();
    await listener.closed;
    assert.ok(listener.messages.length > 0);
  });
});

test("pongs that are not read do not queue up", async () => {
  const stage = await openStage({ pingSeconds: 600, receivedPerSecond: 100_000_000 });
  const { pong } = WebSocket.prototype;
  let mostBytes = 0;
  WebSocket.prototype.pong = function (this: WebSocket, ...given: Parameters<typeof pong>) {
    pong.apply(this, given);
    mostBytes = Math.max(mostBytes, this.bufferedAmount);
  } as typeof pong;
  try {
    const process = stage.start();
    const socket = connect(stage.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(
      `GET /process/${process.uuid}/detection_data?api_key=ada HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}\r\nSec-WebSocket-Version: 13\r\n\r\n`,
    );
    await once(socket, "data");
    socket.pause();
    const ping = Buffer.concat([Buffer.from([0x89, 0x80 | 125, 0, 0, 0, 0]), Buffer.alloc(125)]);
    const pings = Buffer.concat(Array.from({ length: 500 }, () => ping));
    const send = async (): Promise<void> => {
      if (!socket.write(pings)) await once(socket, "drain");
      await new Promise(setImmediate);
    };
    // Until nothing more goes through, and then as much again as would be noticed.
    while (mostBytes === 0) await send();
    for (let i = 0; i < 200; i++) await send();
    assert.ok(mostBytes < 2 ** 18, `${mostBytes} bytes waited`);
    socket.destroy();
  } finally {
    WebSocket.prototype.pong = pong;
    await stage.close();
  }
});
