import assert from "node:assert/strict";
import { test } from "node:test";
import { Handshake } from "./handshake.ts";

test("both sides agree with any fragmentation, and keep the bytes that follow", () => {
  for (const size of [1, 100, 1537, 10_000]) {
    const toServer: Buffer[] = [];
    const toClient: Buffer[] = [];
    const server = new Handshake("server", (bytes) => toClient.push(bytes));
    const client = new Handshake("client", (bytes) => toServer.push(bytes));
    const feed = (to: Handshake, queue: Buffer[]): Buffer | null => {
      const bytes = Buffer.concat(queue.splice(0));
      let rest: Buffer | null = null;
      for (let at = 0; at < bytes.length && rest === null; at += size) {
        rest = to.push(bytes.subarray(at, at + size));
        if (rest !== null) rest = Buffer.concat([rest, bytes.subarray(at + size)]);
      }
      return rest;
    };
    assert.equal(feed(server, toServer), null);
    toClient.push(Buffer.from("hello"));
    assert.deepEqual(feed(client, toClient), Buffer.from("hello"));
    toServer.push(Buffer.from("connect"));
    assert.deepEqual(feed(server, toServer), Buffer.from("connect"));
  }
});

test("another protocol is known by its first byte", () => {
  const server = new Handshake("server", () => assert.fail("nothing is answered"));
  assert.throws(() => server.push(Buffer.from("GET / HTTP/1.1")), /version 3, received 71/);
});
