/** Inputs that are almost what they should be, for every way into the service. */
import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import fc from "fast-check";
import { publisherSession } from "../../hub/rtsp/fuzz.fixture.ts";
import { requestsOf } from "../api/fuzz/requests.ts";
import { mutate, mutations } from "../soak/mutate.fixture.ts";
import { ADDRESS, ALERT, type Target } from "./target.fixture.ts";

const TALK_BYTES = 600;
const QUIET_MS = 300;
const RTMP_HELLO_BYTES = 1 + 2 * 1536;

/** One input, sent; resolves with what is wrong with the answer, or null. */
export interface Input {
  readonly kind: string;
  send(target: Target): Promise<string | null>;
}

/** Each with how often it comes among 100. */
export function inputsFor(target: Target, key: string, clip: Buffer): fc.Arbitrary<Input> {
  const { source, process } = target.owned;
  const changes = mutations(TALK_BYTES);
  const spoilt = (words: Buffer, talkAt = 0) => changes.map((list) => mutate(words, list, talkAt));
  const text = (words: string) => spoilt(Buffer.from(words));
  const raw = (kind: string, port: number, words: fc.Arbitrary<Buffer>): fc.Arbitrary<Input> =>
    words.map((bytes) => ({ kind, send: () => sayRaw(port, bytes) }));
  const post = (kind: string, path: string, type: string, words: fc.Arbitrary<Buffer>, method = "POST") =>
    words.map((body) => ({ kind, send: (to: Target) => judge(to, method, path, { key, body, type }) }));
  const head = (path: string, more: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\napi_key: ${key}\r\n${more}\r\n`;
  const upgrade = head(
    `/process/${process}/detection_data`,
    "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n",
  );
  const body = JSON.stringify(ALERT);
  const posted = `POST /alert HTTP/1.1\r\nHost: x\r\napi_key: ${key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  const rtsp = publisherSession(`rtsp://127.0.0.1:${target.ports.rtsp}/tenant-f/a`, key);
  const telemetry = JSON.stringify({ telemetry_cfg: { type: "static", parameters: { sensor_hfov: 60 } } });
  const { answers } = target.service;
  const operations = fc.oneof(
    ...answers.operations.map((operation) =>
      requestsOf(operation, { answers, key, uuids: [source, process], names: ["detect", "queue"] }),
    ),
  );
  return fc.oneof(
    { weight: 30, arbitrary: operations.map((request) => ({ kind: "api", send: () => sendRequest(target, request) })) },
    { weight: 15, arbitrary: raw("http", target.ports.http, fc.oneof(text(head("/sources", "")), text(posted))) },
    { weight: 10, arbitrary: raw("websocket", target.ports.http, spoiltFrames(upgrade)) },
    { weight: 12, arbitrary: raw("rtsp", target.ports.rtsp, spoilt(Buffer.concat(rtsp))) },
    { weight: 10, arbitrary: raw("rtmp", target.ports.rtmp, spoilt(rtmpSession(), RTMP_HELLO_BYTES)) },
    { weight: 8, arbitrary: post("yaml", "/graphs/validate", "application/yaml", text(GRAPH)) },
    { weight: 6, arbitrary: post("whep", `/source/${source}/whep`, "application/sdp", text(OFFER)) },
    { weight: 6, arbitrary: post("telemetry", `/source/${source}`, "application/json", text(telemetry), "PATCH") },
    {
      weight: 3,
      arbitrary: post("upload", "/video", "multipart/form-data; boundary=cut", spoilt(clip).map(asForm)),
    },
  );
}

/** What is no answer of a sound server: none at all where there should be one, or a fault of its own. */
async function judge(
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
  // A connection for each: one that is kept may be closed just when the next request is sent on it.
  const answer = await target.call(method, path, {
    address: ADDRESS.tenantA,
    headers: headers as Record<string, string>,
    ...(body !== null && { body }),
  });
  const isFault = answer.status >= 500 && answer.status !== 503 && answer.status !== 507;
  return isFault ? `${method} ${path} ${body?.slice(0, 300)}: ${answer.status} ${answer.text.slice(0, 300)}` : null;
}

/** Says it, and goes when nothing more comes back. */
function sayRaw(port: number, bytes: Buffer): Promise<string | null> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: "127.0.0.1", localAddress: ADDRESS.tenantA });
    let heard = "";
    socket.setTimeout(QUIET_MS, () => socket.destroy());
    socket.on("data", (part) => {
      heard = (heard + part.toString("latin1")).slice(0, 500);
    });
    socket.on("error", () => {});
    socket.once("close", () => resolve(/^(HTTP|RTSP)\/1\.[01] 500/.test(heard) ? heard : null));
    socket.end(bytes);
  });
}

const asForm = (clip: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from('--cut\r\nContent-Disposition: form-data; name="file"; filename="clip.mp4"\r\n\r\n'),
    clip,
    Buffer.from("\r\n--cut--\r\n"),
  ]);

/** After a proper upgrade: frames of any kind, length and mask. */
const spoiltFrames = (upgrade: string): fc.Arbitrary<Buffer> =>
  fc
    .array(
      fc.tuple(fc.integer({ min: 0, max: 255 }), fc.integer({ min: 0, max: 255 }), fc.uint8Array({ maxLength: 150 })),
      {
        minLength: 1,
        maxLength: 8,
      },
    )
    .map((frames) => Buffer.concat([Buffer.from(upgrade), ...frames.map(([a, b, rest]) => Buffer.of(a, b, ...rest))]));

/** Handshake, and the command `connect`. */
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
