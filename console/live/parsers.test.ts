import assert from "node:assert/strict";
import { test } from "node:test";
import { EventParser, FeedParser } from "./parsers.ts";

const encode = (text: string) => new TextEncoder().encode(text);

/** In chunks of several sizes. */
function* cut(bytes: Uint8Array): Generator<readonly Uint8Array[]> {
  for (const size of [1, 2, 3, 7, 50, bytes.length]) {
    const chunks: Uint8Array[] = [];
    for (let i = 0; i < bytes.length; i += size) chunks.push(bytes.slice(i, i + size));
    yield chunks;
  }
}

test("parses frames from chunks of any size, also frames that contain a boundary", () => {
  const part = (time: string, body: string) =>
    `--frame\r\nContent-Type: image/jpeg\r\nContent-Length: ${body.length}\r\nX-Timestamp: ${time}\r\n\r\n${body}\r\n`;
  const bytes = encode(part("T1", "one\r\n\r\n--frame") + part("T2", "two") + part("T3", "3").slice(0, -3));
  for (const chunks of cut(bytes)) {
    const parser = new FeedParser();
    const frames = chunks.flatMap((chunk) => parser.push(chunk));
    assert.deepEqual(
      frames.map(({ timestamp, jpeg }) => [timestamp, new TextDecoder().decode(jpeg)]),
      [
        ["T1", "one\r\n\r\n--frame"],
        ["T2", "two"],
      ],
    );
  }
});

test("rejects data that is not a feed", () => {
  assert.throws(() => new FeedParser().push(new Uint8Array(10_000)), /part header of up to 4096 bytes/);
  assert.throws(
    () => new FeedParser().push(encode("--frame\r\nContent-Length: 99999999999\r\n\r\n")),
    /content-length of 1 to 16777216, received 99999999999/,
  );
});

test("parses events from chunks of any size, without comments and incomplete events", () => {
  const bytes = encode(
    ': hello\n\nevent: stats\ndata: {"é":1}\n\nid: 4\nevent: state\ndata: one\ndata: two\n\nevent: late\n',
  );
  for (const chunks of cut(bytes)) {
    const parser = new EventParser();
    assert.deepEqual(
      chunks.flatMap((chunk) => parser.push(chunk)),
      [
        { event: "stats", data: '{"é":1}' },
        { event: "state", data: "one\ntwo" },
      ],
    );
  }
});
