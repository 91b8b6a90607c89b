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
  ["Disk on fire", /^Disk on fire$/],
];

for (const [said, expected] of CASES)
  test(`says "${said}" in plain words`, () => assert.match(explainReason(said), expected));
