import assert from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { AccessUnit } from "../access-unit.ts";
import { TRACKS } from "../tracks.fixture.ts";
import { RtspClient, readRtspAddress } from "./client.ts";
import { MessageReader, type RtspFrame, type RtspRequest, writeResponse } from "./message.ts";
import { publishRtsp } from "./publisher.ts";

const picture = (isKey: boolean, bytes = 5000): AccessUnit => ({
  kind: "video",
  dtsUs: 0,
  ptsUs: 0,
  captureMs: Date.now(),
  isKey,
  parts: [Buffer.alloc(bytes, isKey ? 0x65 : 0x41)],
});

type Answer = (request: RtspRequest, socket: Socket) => Buffer | null;

/** A server that answers as the test likes: null for not at all. */
async function serve(t: TestContext, answer: Answer) {
  const requests: RtspRequest[] = [];
  const frames: RtspFrame[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const reader = new MessageReader();
    sockets.push(socket);
    socket.on("error", () => {});
    socket.on("data", (chunk) => {
      reader.push(chunk);
      for (let item = reader.next(); item !== null; item = reader.next()) {
        if (item.kind === "frame") frames.push(item);
        if (item.kind !== "request") continue;
        requests.push(item);
        const bytes = answer(item, socket);
        if (bytes !== null) socket.write(bytes);
      }
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { requests, frames, sockets, at: (user = "") => `rtsp://${user}127.0.0.1:${port}/live/cam?x=1` };
}

const ok = (request: RtspRequest, fields: Record<string, string> = {}): Buffer => {
  const transport = request.headers.get("transport");
  return writeResponse(200, null, {
    CSeq: request.headers.get("cseq") ?? "",
    Session: "abc;timeout=60",
    Transport: transport?.replace(/interleaved=(\d)-(\d)/, "interleaved=1$1-1$2") ?? null,
    ...fields,
  });
};
const refuse = (request: RtspRequest, status: number, reason: string | null, fields: Record<string, string> = {}) =>
  writeResponse(status, reason, { CSeq: request.headers.get("cseq") ?? "", ...fields });

test("announces, sets up both tracks, records, sends on the negotiated channels, and tears down", async (t) => {
  const server = await serve(t, (request) => ok(request));
  const publisher = await publishRtsp(server.at(), TRACKS);
  assert.deepEqual(
    server.requests.map(({ method, url }) => `${method} ${url.replace(/:\d+/, "")}`),
    [
      "ANNOUNCE rtsp://127.0.0.1/live/cam?x=1",
      "SETUP rtsp://127.0.0.1/live/cam/trackID=0?x=1",
      "SETUP rtsp://127.0.0.1/live/cam/trackID=1?x=1",
      "RECORD rtsp://127.0.0.1/live/cam?x=1",
    ],
  );
  assert.equal(server.requests[2]?.headers.get("session"), "abc");
  assert.equal(publisher.send(picture(false)), false);
  assert.equal(publisher.send(picture(true)), true);
  assert.equal(publisher.send({ ...picture(true), kind: "audio", parts: [Buffer.alloc(20)] }), true);
  await publisher.close();
  assert.equal(server.requests.at(-1)?.method, "TEARDOWN");
  assert.deepEqual([...new Set(server.frames.map(({ channel }) => channel))], [11, 10, 13, 12]);
  assert.equal(await publisher.closed, "closed");
  assert.equal(publisher.send(picture(true)), false);
});

test("authenticates as the server asks, with Digest or Basic, and never before", async (t) => {
  for (const challenge of ['Digest realm="r", nonce="n"', 'Basic realm="r"']) {
    const server = await serve(t, (request) =>
      request.headers.has("authorization")
        ? ok(request)
        : refuse(request, 401, null, { "WWW-Authenticate": challenge }),
    );
    const publisher = await publishRtsp(server.at("us:pw@"), TRACKS);
    const given = server.requests.map(({ headers }) => headers.get("authorization")?.split(" ")[0]);
    const scheme = challenge.split(" ")[0];
    assert.deepEqual(given, [undefined, scheme, scheme, scheme, scheme]);
    assert.ok(server.requests.every(({ url }) => !url.includes("pw")));
    await publisher.close();
  }
});

test("quotes the rejection of the server, without the address", async (t) => {
  const server = await serve(t, (request) => refuse(request, 403, "this path is taken"));
  await assert.rejects(publishRtsp(server.at("us:secret@"), TRACKS), {
    message: "the server rejected ANNOUNCE: 403 this path is taken",
  });
  const guarded = await serve(t, (request) => refuse(request, 401, null, { "WWW-Authenticate": 'Basic realm="r"' }));
  await assert.rejects(publishRtsp(guarded.at("us:secret@"), TRACKS), {
    message: "the server rejected ANNOUNCE: 401 Unauthorized",
  });
  assert.equal(guarded.requests.length, 2);
});

test("rejects in time for servers that are silent, speak another protocol or are unreachable", async (t) => {
  const mute = await serve(t, () => null);
  await assert.rejects(publishRtsp(mute.at(), TRACKS, { stepMs: 200 }), /did not answer ANNOUNCE within 0.2 s/);
  const other = await serve(t, () => Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"));
  await assert.rejects(publishRtsp(other.at(), TRACKS), /does not speak RTSP/);
  await assert.rejects(publishRtsp("rtsp://127.0.0.1:1/a", TRACKS), /ECONNREFUSED/);
});

test("rejects units when the server stops reading, then closes", async (t) => {
  const server = await serve(t, (request, socket) => {
    if (request.method === "RECORD") socket.pause();
    return ok(request);
  });
  const publisher = await publishRtsp(server.at(), TRACKS, { stalledMs: 500, queueBytes: 200_000 });
  let isTaken = true;
  while (isTaken) {
    isTaken = publisher.send(picture(true, 100_000));
    await new Promise((resolve) => setImmediate(resolve));
  }
  assert.equal(publisher.send(picture(false)), false);
  assert.equal(await publisher.closed, "the server accepted no data for 0.5 s");
});

test("reports that the server closed the connection", async (t) => {
  const server = await serve(t, (request) => ok(request));
  const publisher = await publishRtsp(server.at(), TRACKS);
  for (const socket of server.sockets) socket.end();
  assert.equal(await publisher.closed, "the server closed the connection");
});

test("sends keep-alive requests", async (t) => {
  const server = await serve(t, (request) =>
    request.method === "OPTIONS" ? null : ok(request, { Session: "abc;timeout=2" }),
  );
  const publisher = await publishRtsp(server.at(), TRACKS, { stepMs: 300 });
  assert.equal(await publisher.closed, "the server did not answer OPTIONS within 0.3 s");
});

test("does not report an error of the packet handler as an RTSP error", async (t) => {
  const server = await serve(t, () => null);
  const onFrame = () => {
    throw new Error("the picture is damaged");
  };
  const reasons: string[] = [];
  for (const said of [Buffer.from([0x24, 0, 0, 1, 7]), Buffer.from("no RTSP\r\n\r\n")]) {
    const client = await RtspClient.open(readRtspAddress(server.at()), { stepMs: 5000, onFrame });
    while (server.sockets.length <= reasons.length) await new Promise((resolve) => setImmediate(resolve));
    server.sockets.at(-1)?.write(said);
    reasons.push(await client.closed);
  }
  assert.deepEqual(reasons, ["the picture is damaged", "the server does not speak RTSP"]);
});
