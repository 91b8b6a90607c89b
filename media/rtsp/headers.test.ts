import assert from "node:assert/strict";
import { test } from "node:test";
import { Authorization, readBasicPassword, readTransport } from "./headers.ts";

const TRANSPORTS: readonly [string, unknown][] = [
  ["RTP/AVP/TCP;unicast;interleaved=2-3;mode=record", { kind: "tcp", channels: [2, 3], isRecord: true }],
  ['RTP/AVP/TCP;interleaved=4;mode="RECORD"', { kind: "tcp", channels: [4, 5], isRecord: true }],
  ["RTP/AVP/TCP", { kind: "tcp", channels: null, isRecord: false }],
  ["RTP/AVP;unicast;client_port=5000-5001", { kind: "udp", ports: [5000, 5001], isRecord: false }],
  ["RTP/AVP;multicast,RTP/AVP/TCP;interleaved=0-1", { kind: "tcp", channels: [0, 1], isRecord: false }],
  ["RTP/AVP;multicast;client_port=5000-5001", null],
  ["RTP/AVP;unicast", null],
  ["RTP/AVP;unicast;client_port=0-1", null],
  ["RTP/AVP;unicast;client_port=5000-0", null],
  ["RTP/AVP;unicast;client_port=70000-70001", null],
  ["RTP/AVP/TCP;interleaved=300-301", null],
  ["RTP/SAVP;unicast;client_port=5000-5001", null],
  ["", null],
];

for (const [header, expected] of TRANSPORTS) {
  test(`the transport "${header}" is ${expected === null ? "refused" : "taken"}`, () => {
    assert.deepEqual(readTransport(header), expected);
  });
}

test("Basic: reads the password with any user name", () => {
  const write = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`;
  assert.equal(readBasicPassword(write("any:a:key")), "a:key");
  assert.equal(readBasicPassword(write(":key")), "key");
  for (const bad of [undefined, "", "Basic", "Basic !!", write("nothing"), write("user:"), "Digest a=b"]) {
    assert.equal(readBasicPassword(bad), null);
  }
});

test("Digest is answered as in the example of RFC 2617 without qop, and preferred to Basic", () => {
  const challenge =
    'Basic realm="x", Digest realm="testrealm@host.com", nonce="dcd98b7102dd2f0e8b11d0f600bfb0c093", opaque="o"';
  const answer = Authorization.answer(challenge, { user: "Mufasa", password: "Circle Of Life" });
  const text = answer?.write("GET", "/dir/index.html") ?? "";
  // RFC 2069's computation of the same example.
  assert.match(text, /^Digest username="Mufasa", realm="testrealm@host.com"/);
  assert.match(text, /response="670fd8c2df070c60b045671b8b24ff02"/);
  assert.match(text, /opaque="o"/);
});

test("Digest with qop counts its answers", () => {
  const answer = Authorization.answer('Digest realm="r", nonce="n", qop="auth,auth-int", algorithm=MD5', {
    user: "u",
    password: "p",
  });
  assert.match(
    answer?.write("SETUP", "rtsp://h/a") ?? "",
    /qop=auth, nc=00000001, cnonce="[0-9a-f]{16}", response="[0-9a-f]{32}"/,
  );
  assert.match(answer?.write("SETUP", "rtsp://h/a") ?? "", /nc=00000002/);
});

test("a challenge that is neither cannot be answered", () => {
  const credentials = { user: "u", password: "p" };
  assert.equal(Authorization.answer("Bearer", credentials), null);
  assert.equal(Authorization.answer(undefined, credentials), null);
  assert.equal(Authorization.answer('Digest realm="r", nonce="n", algorithm=SHA-256', credentials), null);
});
