/** Nearly valid inputs for every interface of the service. */
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import { connect } from "node:net";
import fc from "fast-check";
import { publisherSession } from "../../hub/rtsp/fuzz.fixture.ts";
import { requestsOf } from "../api/fuzz-requests.ts";
import { createKey } from "../api/service.fixture.ts";
import { makeClip, temporaryFolder } from "../graph.fixture.ts";
import { mutate, mutations } from "../soak/mutate.fixture.ts";
import { ADDRESS, ALERT, type Target } from "./target.fixture.ts";

const HEAD_BYTES = 600;
const QUIET_MS = 300;
const RTMP_HELLO_BYTES = 1 + 2 * 1536;

/** `send` resolves with a fault of the response, or null. */
export interface Input {
  readonly kind: string;
  send(target: Target): Promise<string | null>;
}

/** Sends this many inputs, several at once, and expects no server error. Resolves with their number by kind. */
export async function sendMalformed(
  target: Target,
  count: number,
  seed: number,
  lanes: number,
): Promise<ReadonlyMap<string, number>> {
  const key = await createKey(target.service, "tenant-f", "--graph-author", "--limit", "requests_per_minute=10000000");
  const clip = await readFile(await makeClip(temporaryFolder(), 10, "width=64&height=48"));
  const counts = new Map<string, number>();
  const queue = fc.sample(inputsFor(target, key, clip), { numRuns: count, seed }).values();
  const faults: string[] = [];
  const lane = async () => {
    for (const { kind, send } of queue) {
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      const fault = await send(target);
      if (fault !== null) faults.push(`${kind}: ${fault}`);
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  assert.deepEqual(faults, []);
  return counts;
}

/** Weights are percentages. */
function inputsFor(target: Target, key: string, clip: Buffer): fc.Arbitrary<Input> {
  const { source, process } = target.owned;
  const changes = mutations(HEAD_BYTES);
  const mutated = (bytes: Buffer, start = 0) => changes.map((list) => mutate(bytes, list, start));
  const text = (original: string) => mutated(Buffer.from(original));
  const raw = (kind: string, port: number, input: fc.Arbitrary<Buffer>): fc.Arbitrary<Input> =>
    input.map((bytes) => ({ kind, send: () => sendRaw(port, bytes) }));
  const post = (kind: string, path: string, type: string, input: fc.Arbitrary<Buffer>, method = "POST") =>
    input.map((body) => ({ kind, send: (to: Target) => sendBody(to, method, path, { key, body, type }) }));
  const head = (path: string, more: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\napi_key: ${key}\r\n${more}\r\n`;
  const upgrade = head(
    `/process/${process}/detection_data`,
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n",
  );
  const body = JSON.stringify(ALERT);
  const posted = `POST /alert HTTP/1.1\r\nHost: x\r\napi_key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const rtsp = publisherSession(`rtsp://127.0.0.1:${target.ports.rtsp}/tenant-f/a`, key);
  const telemetry = JSON.stringify({ telemetry_cfg: { type: "static", parameters: { sensor_hfov: 60 } } });
  const { contract } = target.service;
  const operations = fc.oneof(
    ...contract.operations.map((operation) =>
      requestsOf(operation, { contract, key, uuids: [source, process], names: ["detect", "queue"] }),
    ),
  );
  return fc.oneof(
    { weight: 30, arbitrary: operations.map((request) => ({ kind: "api", send: () => sendRequest(target, request) })) },
    { weight: 15, arbitrary: raw("http", target.ports.http, fc.oneof(text(head("/sources", "")), text(posted))) },
    { weight: 10, arbitrary: raw("websocket", target.ports.http, randomFrames(upgrade)) },
    { weight: 12, arbitrary: raw("rtsp", target.ports.rtsp, mutated(Buffer.concat(rtsp))) },
    { weight: 10, arbitrary: raw("rtmp", target.ports.rtmp, mutated(rtmpSession(), RTMP_HELLO_BYTES)) },
    { weight: 8, arbitrary: post("yaml", "/graphs/validate", "application/yaml", text(GRAPH)) },
    { weight: 6, arbitrary: post("whep", `/source/${source}/whep`, "application/sdp", text(OFFER)) },
    { weight: 6, arbitrary: post("telemetry", `/source/${source}`, "application/json", text(telemetry), "PATCH") },
    {
      weight: 3,
      arbitrary: post("upload", "/video", "multipart/form-data; boundary=cut", mutated(clip).map(asForm)),
    },
  );
}

/** Resolves with a server error, or null. Rejects without a response. */
async function sendBody(
  target: Target,
  method: string,
  path: string,
  options: { readonly key: string; readonly body: Buffer; readonly type: string },
): Promise<string | null> {
  const { status, text } = await target.call(method, path, { address: ADDRESS.tenantA, ...options });
  const isFault = status >= 500 && status !== 503 && status !== 507;
  return isFault ? `${method} ${path}: ${status} ${text.slice(0, 300)}` : null;
}

async function sendRequest(
  target: Target,
  request: { method: string; path: string; headers: object; body: string | null },
) {
  const { method, path, headers, body } = request;
  // A new connection for each request: the server may close a kept one just when the next request is sent.
  const answer = await target.call(method, path, {
    address: ADDRESS.tenantA,
    headers: headers as Record<string, string>,
    ...(body !== null && { body }),
  });
  const isFault = answer.status >= 500 && answer.status !== 503 && answer.status !== 507;
  return isFault ? `${method} ${path} ${body?.slice(0, 300)}: ${answer.status} ${answer.text.slice(0, 300)}` : null;
}

/** Sends bytes and disconnects when no more data arrives. */
function sendRaw(port: number, bytes: Buffer): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: ADDRESS.tenantA });
    let received = "";
    socket.setTimeout(QUIET_MS, () => socket.destroy());
    socket.on("data", (part) => {
      received = (received + part.toString("latin1")).slice(0, 500);
    });
    socket.on("error", () => {});
    socket.once("close", () => resolve(/^(HTTP|RTSP)\/1\.[01] 500/.test(received) ? received : null));
    socket.end(bytes);
  });
}

const asForm = (clip: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from('--cut\r\nContent-Disposition: form-data; name="file"; filename="clip.mp4"\r\n\r\n'),
    clip,
    Buffer.from("\r\n--cut--\r\n"),
  ]);

/** After a valid upgrade: WebSocket frames of any type, length and mask. */
const randomFrames = (upgrade: string): fc.Arbitrary<Buffer> =>
  fc
    .array(
      fc.tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 150 })),
      {
        minLength: 1,
        maxLength: 8,
      },
    )
    .map((frames) => Buffer.concat([Buffer.from(upgrade), ...frames.map(([a, b, rest]) => Buffer.of(a, b, ...rest))]));

/** The RTMP handshake and the command `connect`. */
function rtmpSession(): Buffer {
  const word = (text: string) => Buffer.concat([Buffer.of(0, text.length), Buffer.from(text)]);
  const value = (text: string) => Buffer.concat([Buffer.of(2), word(text)]);
  const number = Buffer.of(0, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0);
  const command = Buffer.concat([
    ...[value("connect"), number, Buffer.of(3), word("app"), value("tenant-f")],
    ...[word("tcUrl"), value("rtmp://127.0.0.1/tenant-f"), Buffer.of(0, 0, 9)],
  ]);
  const header = Buffer.of(3, 0, 0, 0, 0, command.length >> 8, command.length & 255, 20, 0, 0, 0, 0);
  return Buffer.concat([Buffer.of(3), Buffer.alloc(8), randomBytes(1528), randomBytes(1536), header, command]);
}

const GRAPH = `graph: mine
about: Counts.
params:
  every: { type: integer, minimum: 1, default: 2, live: true, description: Every Nth frame. }
chains:
  main:
    - source
    - decode
    - detect: { every: $every }
    - track
    - tee: { name: frames }
  data:
    - from: frames
    - stage
    - detections
`;

const OFFER = [
  ...["v=0", "o=- 1 2 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0", "a=msid-semantic: WMS"],
  ...["m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 0.0.0.0", "a=rtcp:9 IN IP4 0.0.0.0", "a=ice-ufrag:abcd"],
  ...["a=ice-pwd:abcdefghijklmnopqrstuvwx", `a=fingerprint:sha-256 ${Array(32).fill("AB").join(":")}`],
  ...["a=setup:actpass", "a=mid:0", "a=recvonly", "a=rtcp-mux", "a=rtcp-rsize", "a=rtpmap:96 H264/90000"],
  ...["a=fmtp:96 level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e01f", "a=rtcp-fb:96 nack pli", ""],
].join("\r\n");
