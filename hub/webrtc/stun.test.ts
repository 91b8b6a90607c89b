import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import {
  isAuthentic,
  readBindingRequest,
  readBindingResponse,
  writeBindingRequest,
  writeBindingResponse,
} from "./stun.ts";

/** RFC 5769, 2.1: the sample request, its user and its password. */
const SAMPLE = Buffer.from(
  "000100582112a442b7e7a701bc34d686fa87dfae802200105354554e207465737420636c69656e74002400046e0001ff80290008932ff9b151" +
    "263b36000600096576746a3a68367659202020000800149aeaa70cbfd8cb56781ef2b5b2d3f249c1b571a280280004e57a3bcf",
  "hex",
);
const PASSWORD = "VOkJxbRl1RmTxUk/WvJxBt";

test("the sample request of RFC 5769 is read, and proven by its password alone", () => {
  const request = readBindingRequest(SAMPLE);
  assert.equal(request?.username, "evtj:h6vY");
  assert.equal(request?.isNominating, false);
  assert.ok(request && isAuthentic(SAMPLE, request, PASSWORD));
  assert.ok(!isAuthentic(SAMPLE, request, `${PASSWORD}x`));
});

test("a request that was changed anywhere before its proof is not proven", () => {
  for (let at = 0; at < SAMPLE.length - 32; at++) {
    const changed = Buffer.from(SAMPLE);
    changed[at] = (changed[at] as number) ^ 1;
    const request = readBindingRequest(changed);
    assert.ok(request === null || !isAuthentic(changed, request, PASSWORD), `byte ${at}`);
  }
});

/** RFC 5769, 2.2 and 2.3: the addresses in the responses. */
const MAPPED = [
  ["192.0.2.1", 32_853, "0001a147e112a643"],
  ["2001:db8:1234:5678:11:2233:4455:6677", 32_853, "0002a1470113a9faa5d3f179bc25f4b5bed2b9d9"],
] as const;

for (const [address, port, mapped] of MAPPED) {
  test(`the response contains ${address} as in RFC 5769`, () => {
    const transaction = SAMPLE.subarray(8, 20);
    const answer = writeBindingResponse(transaction, address, port, PASSWORD);
    assert.equal(answer.readUInt16BE(0), 0x0101);
    assert.equal(answer.readUInt16BE(2), answer.length - 20);
    assert.deepEqual(answer.subarray(8, 20), transaction);
    assert.equal(answer.subarray(24, 24 + mapped.length / 2).toString("hex"), mapped);
  });
}

test("reads back written messages, with integrity and fingerprint", () => {
  const transaction = SAMPLE.subarray(8, 20);
  const request = writeBindingRequest(transaction, "theirs:ours", PASSWORD);
  const response = writeBindingResponse(transaction, "::1", 5, PASSWORD);
  for (const [message, read] of [
    [request, readBindingRequest(request)],
    [response, readBindingResponse(response)],
  ] as const) {
    assert.ok(read && isAuthentic(message, read, PASSWORD));
    assert.deepEqual(read.transaction, transaction);
    assert.equal(message.readUInt16BE(message.length - 8), 0x8028);
  }
  assert.equal(readBindingRequest(request)?.username, "theirs:ours");
  assert.equal(readBindingResponse(request), null);
  assert.equal(readBindingRequest(response), null);
});

test("no bytes make the reader throw or loop", () => {
  const mutated = fc.tuple(fc.nat(SAMPLE.length - 1), fc.nat(255), fc.nat(SAMPLE.length)).map(([at, value, length]) => {
    const bytes = Buffer.from(SAMPLE.subarray(0, length));
    if (at < length) bytes[at] = value;
    return bytes;
  });
  const random = fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.concat([SAMPLE.subarray(0, 20), bytes]));
  fc.assert(
    fc.property(fc.oneof(mutated, random), (bytes) => {
      const request = readBindingRequest(bytes);
      if (request !== null) isAuthentic(bytes, request, PASSWORD);
      readBindingResponse(bytes);
    }),
    { numRuns: 1000 },
  );
});
