import assert from "node:assert/strict";
import { test } from "node:test";
import { readTransport } from "./transport.ts";

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
