import assert from "node:assert/strict";
import { test } from "node:test";
import { explainReason } from "./reasons.ts";

const CASES: readonly (readonly [string, RegExp])[] = [
  ["Unauthorized: Unauthorized (401)", /user name and password/],
  ["Not found: Not Found (404)", /no such path/],
  ["Could not open resource for reading and writing.: Failed to connect. (Generic error)", /cannot be reached/],
  [
    "Could not read from resource.: Could not receive message. (Timeout while waiting for server response)",
    /does not answer/,
  ],
  ["Connection refused: Could not connect to 127.0.0.1: Connection refused", /connection refused/],
  ["Failed to connect: Socket I/O timed out", /does not answer/],
  ["Failed to connect: Short read (want 3073 have 0)", /closes the connection at once/],
  ["Failed to connect: Error receiving data: Connection reset by peer", /cuts the connection off/],
  ["Could not read from resource.: Could not receive message. (Received end-of-file)", /closes the connection at once/],
  ["Could not write to resource.: Could not send message. (System error)", /cuts the connection off/],
  ["Could not read from resource.: Could not receive message. (Parse error)", /does not speak RTSP/],
  ["Internal data stream error.: Got EOS before any data", /sends nothing, or ends before any video/],
  ["Disk on fire.: All of it.", /^Disk on fire: All of it\.$/],
];

for (const [said, expected] of CASES)
  test(`says "${said}" in plain words`, () => assert.match(explainReason(said), expected));
