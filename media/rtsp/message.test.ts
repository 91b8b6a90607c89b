import assert from "node:assert/strict";
import { test } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { MessageReader, RtspError, type RtspItem, writeRequest, writeResponse } from "./message.ts";

function readAll(chunks: readonly Buffer[]): RtspItem[] {
  const reader = new MessageReader();
  const items: RtspItem[] = [];
  for (const chunk of chunks) {
    reader.push(chunk);
    for (let item = reader.next(); item !== null; item = reader.next()) items.push(item);
  }
  return items;
}

const plain = (item: RtspItem) =>
  item.kind === "frame"
    ? { ...item, packet: Buffer.from(item.packet).toString("hex") }
    : { ...item, headers: [...item.headers], body: Buffer.from(item.body).toString() };

const SESSION = Buffer.concat([
  writeRequest("ANNOUNCE", "rtsp://h/a/b", { CSeq: 1, "Content-Type": "application/sdp" }, "v=0\r\n"),
  Buffer.from([0x24, 3, 0, 4, 0x52, 0x0d, 0x0a, 0x24]),
  writeResponse(404, "nothing is published\r\nthere", { CSeq: 1 }),
  Buffer.from("\r\n\r\nOPTIONS * RTSP/1.0\nCSeq:2\n\n"),
  Buffer.from([0x24, 0, 0, 0]),
]);

test("messages and packets are found however the bytes are cut", () => {
  const whole = readAll([SESSION]).map(plain);
  assert.deepEqual(
    whole.map(({ kind }) => kind),
    ["request", "frame", "response", "request", "frame"],
  );
  assert.equal((readAll([SESSION])[2] as { reason: string }).reason, "nothing is published there");
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: SESSION.length }), { maxLength: 20 }), (places) => {
      const cuts = [0, ...places.sort((a, b) => a - b), SESSION.length];
      const chunks = cuts.slice(1).map((end, i) => SESSION.subarray(cuts[i], end));
      assert.deepEqual(readAll(chunks).map(plain), whole);
    }),
  );
});

test("the memory of the bytes can be used again after `keepRest`, wherever they are cut", () => {
  const whole = readAll([SESSION]).map(plain);
  const memory = Buffer.alloc(SESSION.length);
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: SESSION.length }), { maxLength: 20 }), fc.nat(3), (places, most) => {
      const cuts = [0, ...places.sort((a, b) => a - b), SESSION.length];
      const reader = new MessageReader();
      const requests: RtspItem[] = [];
      const items = cuts.slice(1).flatMap((end, i) => {
        const found: ReturnType<typeof plain>[] = [];
        reader.push(memory.subarray(0, SESSION.copy(memory, 0, cuts[i], end)));
        // A session reads no further while it answers a request, which it still has then.
        for (let item = reader.next(); item !== null; item = found.length < most ? reader.next() : null) {
          found.push(plain(item));
          if (item.kind === "request") requests.push(item);
        }
        reader.keepRest();
        memory.fill(0xee);
        return found;
      });
      for (let item = reader.next(); item !== null; item = reader.next()) items.push(plain(item));
      assert.deepEqual(items, whole);
      for (const request of requests) assert.ok(whole.some((one) => isDeepStrictEqual(one, plain(request))));
    }),
  );
});

const TOO_MUCH: readonly [string, string, number][] = [
  ["a line that does not end", `OPTIONS rtsp://h/${"a".repeat(5000)}`, 414],
  ["a header that does not end", `OPTIONS * RTSP/1.0\r\nA: ${"a".repeat(5000)}`, 400],
  ["headers without end", `OPTIONS * RTSP/1.0\r\n${"A: aaaaaaaaaaaaaaaaaaaaaa\r\n".repeat(1000)}`, 400],
  ["too many headers", `OPTIONS * RTSP/1.0\r\n${"A: a\r\n".repeat(65)}\r\n`, 400],
  ["a body that is too large", "ANNOUNCE * RTSP/1.0\r\nContent-Length: 65537\r\n\r\n", 413],
  ["a length that is negative", "ANNOUNCE * RTSP/1.0\r\nContent-Length: -1\r\n\r\n", 400],
  ["a length that is not a number", "ANNOUNCE * RTSP/1.0\r\nContent-Length: 0x10\r\n\r\n", 400],
  ["a header without a name", "OPTIONS * RTSP/1.0\r\n: a\r\n\r\n", 400],
  ["HTTP", "GET / HTTP/1.1\r\n\r\n", 505],
  ["another version", "OPTIONS * RTSP/2.0\r\n\r\n", 505],
  ["a line that is not a request", "hello there\r\n\r\n", 400],
  ["TLS", "\x16\x03\x01\x02\x00", 400],
];

for (const [what, text, status] of TOO_MUCH) {
  test(`rejects ${what} with ${status}`, () => {
    assert.throws(
      () => readAll([Buffer.from(text, "latin1")]),
      (error) => error instanceof RtspError && error.status === status,
    );
  });
}

test("any bytes are messages, packets, or an `RtspError`", () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
    fc
      .constantFrom("OPTIONS ", "rtsp://h/a ", "RTSP/1.0", "\r\n", "\r\n\r\n", "CSeq: 1", "$", "Content-Length: 5", ":")
      .map((text) => Buffer.from(text)),
  );
  fc.assert(
    fc.property(fc.array(piece), (chunks) => {
      try {
        readAll(chunks);
      } catch (error) {
        assert.ok(error instanceof RtspError);
      }
    }),
    { numRuns: 500 },
  );
});

test("blanks around a header's value are no part of it, those within are", () => {
  const [item] = readAll([Buffer.from("OPTIONS * RTSP/1.0\r\nA: \t x  y\t \r\nB:\r\nC:  \r\n\r\n")]);
  assert.ok(item?.kind === "request");
  assert.deepEqual([...item.headers.values()], ["x  y", "", ""]);
});

test("a line of blanks takes no longer to read than a line of letters", () => {
  const timeOf = (filling: string): number => {
    const text = `OPTIONS * RTSP/1.0\r\n${`A: x${filling.repeat(3900)}y\r\n`.repeat(4)}\r\n`;
    const times = Array.from({ length: 5 }, () => {
      const begin = performance.now();
      readAll([Buffer.from(text)]);
      return performance.now() - begin;
    });
    return Math.min(...times);
  };
  timeOf("x");
  const ratio = timeOf(" ") / timeOf("x");
  // As many times as there are blanks where every blank is a new try.
  assert.ok(ratio < 50, `${ratio.toFixed(1)} times as long`);
});
