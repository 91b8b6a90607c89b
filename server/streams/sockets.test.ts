import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { after, before, describe, test } from "node:test";
import { WebSocket } from "ws";
import { DetectionMessage } from "../../schemas/detection-message.ts";
import { newUuid } from "../uuid.ts";
import { checkBy } from "../validation.ts";
import { eventually, Listener, openStage, refusalOf, type Stage } from "./streams.fixture.ts";

const checkDetections = checkBy(DetectionMessage);

describe("websockets of a process", () => {
  let stage: Stage;
  before(async () => {
    stage = await openStage();
  });
  after(() => stage.close());

  const pathOf = (uuid: string, channel = "detection_data", key = "ada") =>
    `/process/${uuid}/${channel}?api_key=${key}`;

  test("send every message of their channel, in order, and those of no other", async () => {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "detection_data");
    process.detect({ source_uri: "first" });
    process.emit({ type: "message", channel: "drone_data", message: { timestamp: 1 } });
    process.detect({ source_uri: "second" });
    const messages = await listener.expect(2);
    assert.deepEqual(
      messages.map(({ source_uri }) => source_uri),
      ["first", "second"],
    );
    for (const message of messages) assert.deepEqual(checkDetections(message), []);
    await listener.close();
  });

  test("accept the key in the header as well, which overrides the query", async () => {
    const { uuid } = stage.start();
    const socket = new WebSocket(`ws://127.0.0.1:${stage.port}${pathOf(uuid, "drone_data", "wrong")}`, {
      headers: { api_key: "ada" },
    });
    await once(socket, "open");
    socket.terminate();
  });

  test("accept uuids in capitals and a trailing slash, for the same socket", async () => {
    const process = stage.start();
    const listener = await Listener.open(stage, { uuid: process.uuid.toUpperCase() }, "detection_data/");
    assert.equal((await refusalOf(stage, pathOf(process.uuid))).code, "socket_in_use");
    await listener.close();
  });

  const refusals: readonly (readonly [string, (uuid: string) => Parameters<typeof refusalOf>[1], number, string])[] = [
    ["no key", (uuid) => `/process/${uuid}/detection_data`, 403, "api_key_missing"],
    ["a wrong key", (uuid) => pathOf(uuid, "telemetry", "nobody"), 403, "api_key_invalid"],
    ["a process of another user's", (uuid) => pathOf(uuid, "detection_data", "bob"), 404, "process_not_found"],
    ["a process that is not there", () => pathOf(newUuid()), 404, "process_not_found"],
    ["drone data of one that is not there", () => pathOf(newUuid(), "drone_data"), 404, "process_not_found"],
    ["a path that is not a websocket", (uuid) => pathOf(uuid, "feed"), 404, "path_not_found"],
    ["a path that is none at all", () => "/nowhere?api_key=ada", 404, "path_not_found"],
  ];
  for (const [what, path, status, code] of refusals) {
    test(`are rejected before the upgrade for ${what}`, async () => {
      const refusal = await refusalOf(stage, path(stage.start().uuid));
      assert.deepEqual({ status: refusal.status, code: refusal.code }, { status, code });
    });
  }

  test("are rejected for a finished process", async () => {
    const process = stage.start();
    process.end();
    assert.equal((await refusalOf(stage, pathOf(process.uuid))).code, "process_not_found");
  });

  test("are rejected without detections in the graph, except for drone data and telemetry", async () => {
    const process = stage.start(["feed"]);
    const refusal = await refusalOf(stage, pathOf(process.uuid));
    assert.deepEqual([refusal.status, refusal.code], [409, "graph_lacks"]);
    for (const channel of ["drone_data", "telemetry"]) await (await Listener.open(stage, process, channel)).close();
  });

  test("count wrong keys against the address", async () => {
    const before = stage.failures.length;
    await refusalOf(stage, pathOf(stage.start().uuid, "drone_data", "wrong"));
    assert.deepEqual(stage.failures.slice(before), ["127.0.0.1"]);
  });

  test("explain a wrong handshake", async () => {
    const path = pathOf(stage.start().uuid);
    const asPost = await refusalOf(stage, path, {}, "POST");
    assert.deepEqual([asPost.status, asPost.headers.allow], [405, "GET, HEAD, OPTIONS"]);
    const old = await refusalOf(stage, path, { "Sec-WebSocket-Version": "7" });
    assert.deepEqual([old.status, old.headers["sec-websocket-version"]], [426, "13"]);
    assert.equal((await refusalOf(stage, path, { "Sec-WebSocket-Key": undefined })).status, 400);
    assert.equal((await refusalOf(stage, path, { "Sec-WebSocket-Key": "short" })).status, 400);
    assert.equal((await refusalOf(stage, path, { "Sec-WebSocket-Protocol": "a,,b" })).status, 400);
  });

  test("answer a plain GET with 426, and with 403 when it has no key", async () => {
    const { uuid } = stage.start();
    for (const channel of ["detection_data", "drone_data", "telemetry"]) {
      const answer = await fetch(`${stage.url}${pathOf(uuid, channel)}`);
      assert.equal(answer.status, 426);
      assert.equal(answer.headers.get("upgrade"), "websocket");
      assert.equal(answer.headers.get("content-type"), "application/problem+json");
      const problem = (await answer.json()) as { code: string };
      assert.equal(problem.code, "upgrade_needed");
      assert.equal((await fetch(`${stage.url}/process/${uuid}/${channel}`)).status, 403);
    }
  });

  test("answer requests with another upgrade like plain requests", async () => {
    const { uuid } = stage.start();
    const headers = { Upgrade: "h2c", Connection: "Upgrade, HTTP2-Settings", "HTTP2-Settings": "AAMAAABk" };
    assert.equal((await refusalOf(stage, pathOf(uuid), headers)).code, "upgrade_needed");
  });

  test("accept one client at a time, and the next as soon as it has gone", async () => {
    const process = stage.start();
    for (const leave of ["close", "terminate"] as const) {
      const listener = await Listener.open(stage, process, "detection_data");
      const refusal = await refusalOf(stage, pathOf(process.uuid));
      assert.deepEqual([refusal.status, refusal.code], [409, "socket_in_use"]);
      listener.socket[leave]();
      await eventually(() => process.followers.size === 0, "no subscribers are left");
    }
    const telemetry = await Listener.open(stage, process, "telemetry");
    assert.equal((await refusalOf(stage, pathOf(process.uuid, "telemetry"))).code, "socket_in_use");
    await telemetry.close();
  });

  test("accept as many clients as the account may have, each with every message, and one sender of telemetry", async () => {
    const several = await openStage({}, { LIMITS_SOCKET_CLIENTS: "3" });
    const process = several.start();
    const clients: Listener[] = [];
    for (let i = 0; i < 3; i++) clients.push(await Listener.open(several, process, "detection_data"));
    const refusal = await refusalOf(several, pathOf(process.uuid));
    assert.deepEqual([refusal.status, refusal.code], [409, "socket_in_use"]);
    assert.match(refusal.detail ?? "", /3 clients are connected/);
    process.detect();
    process.detect();
    for (const client of clients) await client.expect(2);
    await clients[1]?.close();
    await eventually(() => process.followers.size === 2, "one has left");
    await (await Listener.open(several, process, "detection_data")).close();
    const telemetry = await Listener.open(several, process, "telemetry");
    assert.equal((await refusalOf(several, pathOf(process.uuid, "telemetry"))).code, "socket_in_use");
    await telemetry.close();
    await several.close();
  });

  for (const channel of ["detection_data", "drone_data", "telemetry"])
    test(`do not reveal to another user that a client is connected to ${channel}`, async () => {
      const process = stage.start();
      const listener = await Listener.open(stage, process, channel);
      const refusal = await refusalOf(stage, pathOf(process.uuid, channel, "bob"));
      assert.deepEqual([refusal.status, refusal.code], [404, "process_not_found"]);
      await listener.close();
    });

  test("are free for the next client while the previous one closes slowly", async () => {
    const process = stage.start();
    const lingering = await openRaw(stage.port, pathOf(process.uuid));
    // A close frame, and then nothing: neither is the answer read nor the connection ended.
    lingering.write(Buffer.from([0x88, 0x80, 0, 0, 0, 0]));
    let listener: Listener | undefined;
    await eventually(() => process.followers.size > 0, "it is open");
    while (listener === undefined)
      listener = await Listener.open(stage, process, "detection_data").catch(() => undefined);
    process.detect();
    await listener.expect(1);
    await listener.close();
    lingering.destroy();
  });

  test("accept exactly one of 200 simultaneous clients", async () => {
    const process = stage.start();
    const sockets = Array.from(
      { length: 200 },
      () => new WebSocket(`ws://127.0.0.1:${stage.port}${pathOf(process.uuid)}`),
    );
    const outcomes = await Promise.all(
      sockets.map(
        (socket) =>
          new Promise<number>((resolve, reject) => {
            socket.on("open", () => resolve(101));
            socket.on("unexpected-response", (_, answer) => {
              answer.resume();
              resolve(answer.statusCode ?? 0);
            });
            socket.on("error", reject);
          }),
      ),
    );
    assert.equal(outcomes.filter((status) => status === 101).length, 1);
    assert.equal(outcomes.filter((status) => status === 409).length, 199);
    assert.equal(process.followers.size, 1);
    for (const socket of sockets) socket.terminate();
    await eventually(() => process.followers.size === 0, "no subscribers are left");
  });

  test("forget a client that disconnects during its handshake", async () => {
    const process = stage.start();
    for (let i = 0; i < 20; i++) {
      const socket = connect(stage.port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(handshake(pathOf(process.uuid)));
      if (i % 2 === 0) socket.resetAndDestroy();
      else socket.end();
    }
    let listener: Listener | undefined;
    while (listener === undefined)
      listener = await Listener.open(stage, process, "detection_data").catch(() => undefined);
    await eventually(() => process.followers.size === 1, "one follows");
    await listener.close();
  });

  test("are not affected by clients that flood headers or stop within them", async () => {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "detection_data");
    const [half, flood] = [connect(stage.port, "127.0.0.1"), connect(stage.port, "127.0.0.1")];
    half.write(handshake(pathOf(process.uuid)).slice(0, -2));
    flood.on("error", () => {});
    flood.write(handshake(pathOf(process.uuid)).slice(0, -2) + "X-More: and more\r\n".repeat(5000));
    const [answer] = (await once(flood, "data")) as [Buffer];
    assert.match(answer.toString(), /^HTTP\/1\.1 431 /);
    process.detect();
    await listener.expect(1);
    assert.equal(process.followers.size, 1);
    half.destroy();
    await listener.close();
  });

  test("close with 1000 and the reason when the process ends, after its last message", async () => {
    for (const [state, reason] of [
      ["finished", /has finished/],
      ["failed", /has failed: pipeline_failed/],
    ] as const) {
      const process = stage.start();
      const listener = await Listener.open(stage, process, "detection_data");
      process.detect();
      process.end(state);
      const closed = await listener.closed;
      assert.equal(closed.code, 1000);
      assert.match(closed.reason, reason);
      assert.equal(listener.messages.length, 1);
    }
  });

  test("ignore messages of a client on an output socket", async () => {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "detection_data");
    listener.socket.send("ping");
    listener.socket.send(Buffer.alloc(100));
    listener.socket.ping();
    await once(listener.socket, "pong");
    process.detect();
    await listener.expect(1);
    await listener.close();
  });

  test("close with 1009 for a message that is too large, and 1007 for invalid UTF-8", async () => {
    const process = stage.start();
    const large = await Listener.open(stage, process, "telemetry");
    large.socket.send("x".repeat(65_537));
    assert.equal((await large.closed).code, 1009);
    const broken = await Listener.open(stage, process, "telemetry");
    broken.socket.send(Buffer.from([0xff, 0xfe]), { binary: false });
    assert.equal((await broken.closed).code, 1007);
  });
});

test("disconnects clients that answer no pings, and keeps the others", async () => {
  const stage = await openStage({ pingSeconds: 0.1 });
  try {
    const [lively, dead] = [stage.start(), stage.start()];
    const listener = await Listener.open(stage, lively, "detection_data");
    const raw = await openRaw(stage.port, `/process/${dead.uuid}/detection_data?api_key=ada`);
    raw.resume();
    let pings = 0;
    listener.socket.on("ping", () => pings++);
    await once(raw, "close");
    await eventually(() => pings >= 6, "it is still pinged");
    assert.equal(listener.socket.readyState, WebSocket.OPEN);
    assert.equal(dead.followers.size, 0);
  } finally {
    await stage.close();
  }
});

test("a revoked key closes its sockets with 1008 and ends its feeds and events", async () => {
  const stage = await openStage({ pingSeconds: 0.1 });
  try {
    const process = stage.start();
    const listener = await Listener.open(stage, process, "detection_data");
    const events = await fetch(`${stage.url}/process/${process.uuid}/events`, { headers: { api_key: "ada" } });
    const feed = await fetch(`${stage.url}/process/${process.uuid}/feed?api_key=ada`);
    stage.revoked.add("ada");
    assert.equal((await listener.closed).code, 1008);
    await Promise.all([events.text(), feed.arrayBuffer()]);
    await eventually(() => process.followers.size + process.watchers.size === 0, "no viewers are left");
  } finally {
    await stage.close();
  }
});

test("URLs with a token open the streams of one process, without a key, and nothing else", async () => {
  const stage = await openStage();
  try {
    const [process, other] = [stage.start(), stage.start()];
    const asked = await fetch(`${stage.url}/process/${process.uuid}/urls`, {
      headers: { authorization: "Bearer ada" },
    });
    assert.equal(asked.status, 200);
    const urls = (await asked.json()) as Record<
      "feed_url" | "events_url" | "detection_data_url" | "drone_data_url",
      string
    >;
    assert.ok(!JSON.stringify(urls).includes("api_key"));
    for (const url of [urls.feed_url, urls.events_url]) {
      const opened = await fetch(url);
      assert.equal(opened.status, 200, url);
      await opened.body?.cancel();
      assert.equal((await fetch(url.replace(process.uuid, other.uuid))).status, 403);
    }
    for (const url of [urls.detection_data_url, urls.drone_data_url]) {
      const socket = new WebSocket(url);
      await once(socket, "open");
      socket.terminate();
      const { pathname, search } = new URL(url);
      const elsewhere = await refusalOf(stage, pathname.replace(process.uuid, other.uuid) + search);
      assert.deepEqual([elsewhere.status, elsewhere.code], [403, "signature_invalid"]);
      const telemetry = await refusalOf(stage, `/process/${process.uuid}/telemetry${search}`);
      assert.deepEqual([telemetry.status, telemetry.code], [403, "api_key_missing"], "it cannot send");
    }
    const recording = stage.signer.sign(`process/${process.uuid}`);
    const wrong = await fetch(`${stage.url}/process/${process.uuid}/feed?token=${recording}`);
    assert.equal(wrong.status, 403, "a token for recordings is not one for live streams");
    const bob = await fetch(`${stage.url}/process/${process.uuid}/urls`, { headers: { api_key: "bob" } });
    assert.equal(bob.status, 404);
  } finally {
    await stage.close();
  }
});

test("a shutdown closes every client with 1001, also those that do not respond", async () => {
  const stage = await openStage({ closeMs: 200 });
  const [first, second] = [stage.start(), stage.start()];
  const listener = await Listener.open(stage, first, "detection_data");
  const silent = await openRaw(stage.port, `/process/${second.uuid}/telemetry?api_key=ada`);
  silent.on("error", () => {});
  const gone = once(silent.resume(), "close");
  await stage.streams.close();
  assert.equal((await listener.closed).code, 1001);
  await gone;
  const late = await refusalOf(stage, `/process/${first.uuid}/detection_data?api_key=ada`);
  assert.deepEqual([late.status, late.code], [503, "shutting_down"]);
  await stage.close();
});

const handshake = (path: string): string =>
  [
    `GET ${path} HTTP/1.1`,
    "Host: localhost",
    "Connection: Upgrade",
    "Upgrade: websocket",
    `Sec-WebSocket-Key: ${Buffer.alloc(16).toString("base64")}`,
    "Sec-WebSocket-Version: 13",
    "",
    "",
  ].join("\r\n");

/** An open websocket of which nothing is read or answered. */
async function openRaw(port: number, path: string) {
  const socket = connect(port, "127.0.0.1");
  socket.write(handshake(path));
  const [head] = (await once(socket, "data")) as [Buffer];
  assert.match(head.toString(), /^HTTP\/1\.1 101 /);
  socket.pause();
  return socket;
}
